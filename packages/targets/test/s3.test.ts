import { conformance } from './conformance.ts'
import { storagePlace } from './places.ts'

conformance('S3, by the storage of the catalogue', storagePlace)
