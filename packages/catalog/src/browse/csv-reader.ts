import { BrowseError } from './driver.ts'

export interface CsvRecord {
  /** Of its first field, from 1. */
  readonly line: number
  /** Null: empty, and not quoted. */
  readonly fields: readonly (string | null)[]
}

const mostField = 4 * 1024 * 1024
const mostFields = 2000

/** Records of a CSV file (RFC 4180) as they come, in memory that does not grow with it. */
export class CsvReader {
  #line = 1
  #begun = 1
  #field = ''
  #fields: (string | null)[] = []
  #state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  #wasReturn = false

  read(text: string): CsvRecord[] {
    const found: CsvRecord[] = []
    for (const character of text) this.#take(character, found)
    return found
  }

  /** The last record, which may be without a line end. */
  end(): CsvRecord[] {
    if (this.#state === 'quoted')
      throw new BrowseError('invalid', 'The file ends inside of quotes.', { line: this.#begun })
    const found: CsvRecord[] = []
    if (this.#state !== 'start' || this.#fields.length > 0) this.#endRecord(found)
    return found
  }

  #take(character: string, found: CsvRecord[]): void {
    const isAfterReturn = this.#wasReturn
    this.#wasReturn = false
    if (this.#state === 'quoted') {
      if (character === '"') this.#state = 'closed'
      else {
        this.#add(character)
        if (character === '\n') this.#line++
      }
      return
    }
    if (character === '\n' && isAfterReturn) return
    if (character === '"' && this.#state === 'closed') {
      this.#add('"')
      this.#state = 'quoted'
    } else if (character === '"' && this.#state === 'start') this.#state = 'quoted'
    else if (character === ',') this.#endField()
    else if (character === '\n' || character === '\r') {
      this.#wasReturn = character === '\r'
      this.#endRecord(found)
    } else if (this.#state === 'closed')
      throw new BrowseError('invalid', 'Something follows the quotes of a field.', { line: this.#line })
    else {
      this.#add(character)
      this.#state = 'plain'
    }
  }

  #add(character: string): void {
    this.#field += character
    if (this.#field.length > mostField)
      throw new BrowseError('invalid', 'A field has more than 4 MiB.', { line: this.#begun })
  }

  #endField(): void {
    this.#fields.push(this.#state === 'start' ? null : this.#field)
    this.#field = ''
    this.#state = 'start'
    if (this.#fields.length > mostFields)
      throw new BrowseError('invalid', `A record has more than ${mostFields} fields.`, { line: this.#begun })
  }

  #endRecord(found: CsvRecord[]): void {
    const isBlank = this.#state === 'start' && this.#fields.length === 0
    if (!isBlank) {
      this.#endField()
      found.push({ line: this.#begun, fields: this.#fields })
    }
    this.#fields = []
    this.#line++
    this.#begun = this.#line
  }
}
