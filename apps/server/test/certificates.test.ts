import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import type { Tls } from '@stackquay/contract'
import { openTestApp, type TestApp } from './app-support.ts'
import { makePair } from './certificates-support.ts'

const servers = { STACKQUAY_PROXY_HTTP: '127.0.0.1:8780', STACKQUAY_PROXY_HTTPS: '127.0.0.1:8743' }
