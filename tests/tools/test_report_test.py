"""Tests of tools/test_report.py: what tools/test prints last."""
import io
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
import test_report  # noqa: E402  (the path is set above)

# What ctest of CMake 3.25 writes, shortened to the parts that count.
JUNIT = '''<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="5" failures="2" disabled="0" skipped="2">
  <testcase name="Units.Divide" classname="Units.Divide" time="0.01" status="run">
    <system-out>fine</system-out></testcase>
  <testcase name="Ring.Sum" classname="Ring.Sum" time="0.01" status="fail">
    <failure message=""/><system-out>expected 3
got 4</system-out></testcase>
  <testcase name="Real.Verbs" classname="Real.Verbs" time="0" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>verbs_test.cpp:3: Skipped
no HCA here

[  SKIPPED ] Real.Verbs</system-out></testcase>
  <testcase name="Gone" classname="Gone" time="0" status="notrun">
    <skipped message="Unable to find executable"/></testcase>
  <testcase name="Slow" classname="Slow" time="9" status="fail">
    <failure message="Timeout"/></testcase>
</testsuite>'''


class Report(unittest.TestCase):
    def test_counts_failures_and_skips(self):
        out = io.StringIO()
        status = test_report.report(test_report.read_junit(JUNIT, 'release'), out)
        self.assertEqual(status, 1)
        text = out.getvalue()
        self.assertEqual(text.splitlines()[-1], '1 passed, 3 failed, 1 skipped')
        self.assertIn('FAILED release: Ring.Sum\n  expected 3\n  got 4\n', text)
        self.assertIn('FAILED release: Gone\n  Unable to find executable\n', text)
        self.assertIn('FAILED release: Slow\n  Timeout\n', text)
        self.assertIn('skipped 1: no HCA here\n', text)
        self.assertEqual(text.count('passed'), 1)

    def test_all_passed(self):
        out = io.StringIO()
        self.assertEqual(test_report.report([test_report.Outcome('a', 'pass', '')], out), 0)
        self.assertEqual(out.getvalue(), '1 passed, 0 failed\n')

    def test_nothing_run_is_a_failure(self):
        out = io.StringIO()
        self.assertEqual(test_report.report([], out), 1)
        self.assertEqual(out.getvalue().splitlines()[-1], '0 passed, 0 failed')

    def test_steps(self):
        outcomes = test_report.read_steps('tidy\tfail\ta.cpp:1\vb.cpp:2\nclean\tpass\t\n')
        self.assertEqual([(o.name, o.status, o.text) for o in outcomes],
                         [('tidy', 'fail', 'a.cpp:1\nb.cpp:2'), ('clean', 'pass', '')])

    def test_long_output_keeps_both_ends(self):
        out = io.StringIO()
        text = '\n'.join(f'line {i}' for i in range(1000))
        test_report.report([test_report.Outcome('a', 'fail', text)], out)
        self.assertIn('  line 0\n', out.getvalue())
        self.assertIn('  line 999\n', out.getvalue())
        self.assertIn('  ... 880 lines left out ...\n', out.getvalue())

    def test_a_long_line_is_shortened(self):
        out = io.StringIO()
        text = 'a' * 500 + 'b' * 100000
        test_report.report([test_report.Outcome('release: long', 'fail', text)], out)
        self.assertIn('\n  ' + 'a' * 500 + ' ...\n', out.getvalue())


if __name__ == '__main__':
    unittest.main()
