"""One thread for BLAS and OpenMP, whoever else asks for it at the same time."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from quorate.run import one_thread


def threads(api):
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == api}


@pytest.fixture(autouse=True)
def two():
    with threadpool_limits(2):
        yield


def test_one_inside_and_as_before_outside():
    with one_thread():
        assert threads("blas") == threads("openmp") == {1}
        with one_thread():
            pass
        assert threads("blas") == threads("openmp") == {1}
    assert threads("blas") == threads("openmp") == {2}


def test_put_back_after_an_error():
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert threads("blas") == threads("openmp") == {2}


def test_two_users_that_overlap():
    """The one who came first leaves first: the other must keep its one thread, and two must be there in the end."""
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_thread())
    second.enter_context(one_thread())
    first.close()
    assert threads("blas") == {1}
    second.close()
    assert threads("blas") == {2}


def test_openmp_has_a_setting_for_each_thread():
    def look():
        with one_thread():
            return threads("openmp")

    with ThreadPoolExecutor(1) as pool, one_thread():
        assert pool.submit(look).result() == {1}
