"""The command. Each subcommand loads what it needs when it runs, so that `quorate --help` answers at once."""

import sys

import click


class Main(click.Group):
    """Errors are one line and exit code 1 (2 for wrong usage); `--debug` shows where they come from."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, click.ClickException):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise click.ClickException(f"{error} (run `quorate --debug …` for the whole story)") from error


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
@click.version_option(package_name="quorate")
def main(debug):
    """Form a committee of models and answer with a whole predictive distribution."""
    for stream in (sys.stdout, sys.stderr):
        # Formulas are written in the letters they are made of; a terminal without them gets question marks.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")


@main.command()
@click.option("--seed", default=0, show_default=True, help="The root of all randomness.")
def demo(seed):
    """Train two committees on tables that come with scikit-learn, and print what they found."""
    from quorate.demo import run

    run(seed)
