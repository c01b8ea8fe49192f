/** Sources of small projects in the words of the runners' own first steps, each with tests that pass, fail and are skipped. */

export const nodeTestSource = {
  'package.json': JSON.stringify({ name: 'cart', type: 'module', scripts: { test: 'node --test' } }),
  'test/cart.test.js': `import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'

test('is empty', () => {})

describe('A cart', () => {
  it('adds', () => assert.equal(1 + 1, 2))
  it('counts what it has', () => {
    assert.equal([1, 2].length, 3)
  })
  it.skip('is shared', () => {})
  it.todo('is paid')
})

test('has parts', async (t) => {
  await t.test('one part', () => {})
})
`,
  'test/broken.test.js': `import 'this-package-is-not-there'
`,
}

export const jestSource = {
  'sum.js': `module.exports = (a, b) => a + b
`,
  'sum.test.js': `const sum = require('./sum')

test('adds 1 + 2 to equal 3', () => {
  expect(sum(1, 2)).toBe(3)
})

describe('a wrong sum', () => {
  test.each([1, 2])('of %i', (n) => {
    expect(sum(n, 1)).toBe(2)
  })
  test.skip('is skipped', () => {})
  test.todo('is written')
})
`,
  'broken.test.js': `const nothing = require('./not-there')
`,
}

export const playwrightSource = {
  'playwright.config.js': `module.exports = { testDir: 'e2e', retries: 1, projects: [{ name: 'one' }] }
`,
  'e2e/cart.spec.js': `const { expect, test } = require('@playwright/test')

test('is empty', () => {})

test.describe('A cart', () => {
  test('counts what it has', () => {
    expect([1, 2].length).toBe(3)
  })
  test('passes in the end', ({}, info) => {
    expect(info.retry).toBe(1)
  })
  test.skip('is shared', () => {})
})
`,
}

export const pytestSource = {
  'requirements.txt': 'pytest\n',
  'cart.py': `def total(items):
    return sum(items)
`,
  'tests/test_cart.py': `import pytest

from cart import total


class TestCart:
    def test_empty(self):
        assert total([]) == 0

    @pytest.mark.parametrize("items", [[1], [1, 2]])
    def test_one(self, items):
        assert total(items) == 1


@pytest.fixture
def basket():
    raise RuntimeError("no basket")


def test_basket(basket):
    pass


@pytest.mark.skip(reason="later")
def test_shared():
    pass


@pytest.mark.xfail
def test_known():
    assert False
`,
  'tests/test_broken.py': `import this_module_is_not_there
`,
  'conftest.py': '',
}

export const unittestSource = {
  'tests/__init__.py': '',
  'tests/test_cart.py': `import unittest


class CartTest(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(sum([]), 0)

    def test_counts(self):
        self.assertEqual(len([1, 2]), 3)

    def test_parts(self):
        for n in (1, 2, 3):
            with self.subTest(n=n):
                self.assertEqual(n % 2, 1)

    @unittest.skip("later")
    def test_shared(self):
        pass

    @unittest.expectedFailure
    def test_known(self):
        self.fail()


class WithoutFloor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no floor")

    def test_never(self):
        pass
`,
  'tests/test_broken.py': `import this_module_is_not_there
`,
}

/** The polls application of Django's tutorial, part 5, before its bug is fixed: the tutorial's own failing test. */
export const pollsSource = {
  'polls/models.py': `import datetime

from django.db import models
from django.utils import timezone


class Question(models.Model):
    question_text = models.CharField(max_length=200)
    pub_date = models.DateTimeField("date published")

    def __str__(self):
        return self.question_text

    def was_published_recently(self):
        return self.pub_date >= timezone.now() - datetime.timedelta(days=1)


class Choice(models.Model):
    question = models.ForeignKey(Question, on_delete=models.CASCADE)
    choice_text = models.CharField(max_length=200)
    votes = models.IntegerField(default=0)

    def __str__(self):
        return self.choice_text
`,
  'polls/tests.py': `import datetime

from django.test import TestCase
from django.utils import timezone

from .models import Question


class QuestionModelTests(TestCase):
    def test_was_published_recently_with_future_question(self):
        """
        was_published_recently() returns False for questions whose pub_date
        is in the future.
        """
        time = timezone.now() + datetime.timedelta(days=30)
        future_question = Question(pub_date=time)
        self.assertIs(future_question.was_published_recently(), False)

    def test_was_published_recently_with_old_question(self):
        """
        was_published_recently() returns False for questions whose pub_date
        is older than 1 day.
        """
        time = timezone.now() - datetime.timedelta(days=1, seconds=1)
        old_question = Question(pub_date=time)
        self.assertIs(old_question.was_published_recently(), False)

    def test_was_published_recently_with_recent_question(self):
        """
        was_published_recently() returns True for questions whose pub_date
        is within the last day.
        """
        time = timezone.now() - datetime.timedelta(hours=23, minutes=59, seconds=59)
        recent_question = Question(pub_date=time)
        self.assertIs(recent_question.was_published_recently(), True)
`,
}

export const rspecSource = {
  'lib/cart.rb': `class Cart
  def total(items)
    items.sum
  end
end
`,
  'spec/cart_spec.rb': `require_relative '../lib/cart'

RSpec.describe Cart do
  it 'is empty' do
    expect(Cart.new.total([])).to eq(0)
  end

  context 'with items' do
    it 'counts them' do
      expect(Cart.new.total([1, 2])).to eq(4)
    end

    xit 'is shared' do
    end
  end
end
`,
  'spec/broken_spec.rb': `require 'this/is/not/there'
`,
}

export const minitestSource = {
  Rakefile: `require 'rake/testtask'
Rake::TestTask.new { |task| task.pattern = 'test/*_test.rb' }
`,
  'test/test_helper.rb': `require 'minitest/autorun'
`,
  'test/cart_test.rb': `require_relative 'test_helper'

class CartTest < Minitest::Test
  def test_empty
    assert_equal 0, [].sum
  end

  def test_counts
    assert_equal 3, [1, 2].size
  end

  def test_shared
    skip 'later'
  end

  def test_raises
    raise ArgumentError, 'no cart'
  end
end
`,
}

export const phpunitSource = {
  'phpunit.xml': `<?xml version="1.0"?>
<phpunit colors="true"><testsuites><testsuite name="unit"><directory>tests</directory></testsuite></testsuites></phpunit>
`,
  'tests/CartTest.php': `<?php
use PHPUnit\\Framework\\TestCase;

final class CartTest extends TestCase
{
    public function testEmpty(): void
    {
        $this->assertSame(0, array_sum([]));
    }

    /** @dataProvider items */
    public function testCounts(array $items): void
    {
        $this->assertCount(1, $items);
    }

    public static function items(): array
    {
        return [[[1]], [[1, 2]]];
    }

    public function testShared(): void
    {
        $this->markTestSkipped('later');
    }

    public function testRaises(): void
    {
        throw new LogicException('no cart');
    }
}
`,
}

export const cargoSource = {
  'Cargo.toml': `[package]
name = "cart"
version = "0.1.0"
edition = "2021"
`,
  'src/lib.rs': `/// Adds.
///
/// \`\`\`
/// assert_eq!(cart::add(1, 2), 3);
/// \`\`\`
pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(2, 2), 4);
    }

    #[test]
    fn counts() {
        assert_eq!(add(2, 2), 5, "counted <wrong>");
    }

    #[test]
    #[ignore = "later"]
    fn is_shared() {}

    #[test]
    #[should_panic]
    fn panics() {
        panic!("as it should");
    }
}
`,
  'tests/whole.rs': `#[test]
fn whole() {
    assert_eq!(cart::add(1, 1), 2);
}
`,
}

/** Packages that pass, fail, do not compile and panic. */
export const goSource = {
  'go.mod': `module example.org/shop

go 1.19
`,
  'cart/cart_test.go': `package cart

import "testing"

func TestTotal(t *testing.T) {
	for _, name := range []string{"one", "two parts"} {
		t.Run(name, func(t *testing.T) {
			if name == "two parts" {
				t.Errorf("got %d <parts>\\nwanted 3", 2)
			}
		})
	}
}

func TestShared(t *testing.T) {
	t.Skip("later")
}
`,
  'broken/broken_test.go': `package broken

import "testing"

func TestNothing(t *testing.T) {
	var unused int
}
`,
  'panics/panics_test.go': `package panics

import "testing"

func TestPanics(t *testing.T) {
	var cart map[string]int
	cart["one"] = 1
}
`,
}
