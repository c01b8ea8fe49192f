/**
 * Runs Python tests that report to a `unittest.TextTestRunner`, whoever makes it: unittest itself, or Django with its own or a
 * project's runner, in one process or several. What people see stays what the runner prints.
 */
export const unittestReporter = `"""usage: python stackquay_unittest.py RESULTS (-m MODULE | FILE) [ARGUMENT]..."""
import inspect
import json
import os
import runpy
import sys
import time
import traceback
import unittest


class Report:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8", errors="backslashreplace")
        self.write(results="stackquay")

    def write(self, **fields):
        self.file.write(json.dumps(fields) + "\\n")
        self.file.flush()


class Running:
    """A test between its start and its end; subtests count with their test, as unittest counts them."""

    def __init__(self):
        self.since = time.monotonic()
        self.outcome = None
        self.errors = []
        self.message = None


def watch(result, report):
    """Listens to a result of any class, also of one that other processes feed."""
    running = {}

    def wrap(name, listen):
        original = getattr(result, name, None)
        if original is None:
            return

        def both(*arguments, **named):
            answer = original(*arguments, **named)
            try:
                listen(*arguments, **named)
            except Exception:
                traceback.print_exc()
            return answer

        setattr(result, name, both)

    def started(test):
        running[id(test)] = Running()

    def settle(test, outcome, err=None, message=None):
        state = running.get(id(test))
        alone = state is None
        if alone:
            state = Running()
        if err is not None:
            state.errors.append(err)
        if state.outcome != "failed":
            state.outcome = outcome
        state.message = state.message or message
        if alone:
            write(test, state)

    def failed(test, err):
        settle(test, "failed", err)

    def subtest(test, inner, err):
        if err is not None:
            settle(test, "failed", err, message=label(inner, test))

    def stopped(test):
        state = running.pop(id(test), None)
        if state is not None and state.outcome is not None:
            write(test, state)

    def write(test, state):
        file, first = source_of(test)
        fields = dict(name=name_of(test), group=group_of(test), file=file, line=first, outcome=state.outcome)
        fields["seconds"] = round(time.monotonic() - state.since, 6)
        fields["message"] = state.message
        if state.outcome == "failed" and state.errors:
            told = [told_of(err) for err in state.errors]
            fields["details"] = "\\n".join(told)[-16384:]
            place = place_in(state.errors[0], told[0], file)
            if file is None and place is None:
                place = last_place(told[0])
            if place is not None:
                fields["file"], fields["line"] = place
            said = message_of(state.errors[0], told[0])
            if file is None and "Traceback (most recent call last)" in said:
                said = said.strip().split("\\n")[-1]
            fields["message"] = said if state.message is None else state.message + ": " + said
        report.write(**fields)

    wrap("startTest", started)
    wrap("addSuccess", lambda test: settle(test, "passed"))
    wrap("addExpectedFailure", lambda test, err: settle(test, "passed"))
    wrap("addUnexpectedSuccess", lambda test: settle(test, "failed", message="It was expected to fail, and passed."))
    wrap("addSkip", lambda test, reason: settle(test, "skipped", message=str(reason)))
    wrap("addFailure", failed)
    wrap("addError", failed)
    wrap("addSubTest", subtest)
    wrap("stopTest", stopped)
    return result


def name_of(test):
    return getattr(test, "_testMethodName", None) or test.id()


def group_of(test):
    if not hasattr(test, "_testMethodName"):
        return None
    kind = type(test)
    # What could not be imported is a test of unittest itself, named after the module.
    if kind.__module__.startswith("unittest."):
        return None
    return kind.__module__ + "." + kind.__qualname__


def label(inner, test):
    return inner.id()[len(test.id()):].strip()


def source_of(test):
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    if method is None or type(test).__module__.startswith("unittest."):
        return None, None
    try:
        method = inspect.unwrap(method)
        return os.path.abspath(inspect.getsourcefile(method)), inspect.getsourcelines(method)[1]
    except Exception:
        return None, None


def told_of(err):
    try:
        return "".join(traceback.format_exception(*err))
    except Exception:
        return str(err)


def message_of(err, told):
    try:
        return "".join(traceback.format_exception_only(err[0], err[1])).strip()
    except Exception:
        return told.strip().split("\\n")[-1]


def place_in(err, told, file):
    """The innermost line in the test's own file."""
    if file is None:
        return None
    found = None
    for path, number in places(err, told):
        if os.path.abspath(path) == file:
            found = (file, number)
    return found


def places(err, told):
    try:
        return [(frame.filename, frame.lineno) for frame in traceback.extract_tb(err[2])]
    except Exception:
        return []


def last_place(told):
    """Of a module that cannot be imported: unittest keeps its trace as text."""
    found = None
    for line in told.split("\\n"):
        line = line.strip()
        if line.startswith('File "') and '", line ' in line:
            path, rest = line[6:].split('", line ', 1)
            number = rest.split(",")[0]
            if number.isdigit() and "unittest" not in path and not path.startswith("<"):
                found = (path, int(number))
    return found


def main():
    path, what = sys.argv[1], sys.argv[2]
    report = Report(path)
    make = unittest.TextTestRunner._makeResult

    def make_watched(runner):
        return watch(make(runner), report)

    unittest.TextTestRunner._makeResult = make_watched
    run = unittest.TextTestRunner.run

    def run_to_end(runner, test):
        result = run(runner, test)
        report.write(end=True)
        return result

    unittest.TextTestRunner.run = run_to_end
    # As if it had been started without us.
    if what == "-m":
        module = sys.argv[3]
        sys.path[0] = os.getcwd()
        sys.argv = [sys.argv[0]] + sys.argv[4:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        script = os.path.abspath(what)
        sys.path[0] = os.path.dirname(script)
        sys.argv = [what] + sys.argv[3:]
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
`
