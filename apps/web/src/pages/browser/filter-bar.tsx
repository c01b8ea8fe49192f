import { Filter as FilterIcon, X } from 'lucide-react'
import { useState } from 'react'
import type { DatabaseTable } from '../../api/database-browser.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { type BrowserFilter, type FilterOperator, filterOperators, needsValue } from '../../lib/browser-search.ts'
import { texts } from '../../texts/index.ts'

const t = texts.browser.filter

interface FilterBarProps {
  table: DatabaseTable
  filters: readonly BrowserFilter[]
  onChange: (filters: readonly BrowserFilter[]) => void
}

export function FilterBar({ table, filters, onChange }: FilterBarProps) {
  const [column, setColumn] = useState(table.columns[0]?.name ?? '')
  const [operator, setOperator] = useState<FilterOperator>('eq')
  const [value, setValue] = useState('')
  const add = () => {
    onChange([...filters, { column, operator, ...(needsValue(operator) ? { value } : {}) }])
    setValue('')
  }
  return (
    <div className="flex flex-col gap-2 border-b border-line px-3 py-2">
      <Form onSubmit={add} className="flex flex-wrap items-center gap-2">
        <SelectField
          label={t.column}
          hideLabel
          value={column}
          onChange={(event) => setColumn(event.target.value)}
          className="w-40"
        >
          {table.columns.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </SelectField>
        <SelectField
          label={t.operator}
          hideLabel
          value={operator}
          onChange={(event) => setOperator(event.target.value as FilterOperator)}
          className="w-36"
        >
          {filterOperators.map((one) => (
            <option key={one} value={one}>
              {t.operators[one]}
            </option>
          ))}
        </SelectField>
        {needsValue(operator) && (
          <TextField
            label={t.value}
            hideLabel
            placeholder={t.value}
            value={value}
            onChange={(event) => setValue(event.target.value)}
            className="min-w-32 flex-1 sm:max-w-64"
            mono
          />
        )}
        <Button type="submit" icon={FilterIcon} disabled={filters.length >= 20}>
          {t.add}
        </Button>
      </Form>
      {filters.length > 0 && (
        <ul aria-label={t.label} className="flex flex-wrap gap-1.5">
          {filters.map((filter, index) => {
            const shown = `${filter.column} ${t.operators[filter.operator]} ${filter.value ?? ''}`.trim()
            return (
              <li
                key={shown}
                className="flex max-w-full items-center gap-1 rounded-full bg-accent-soft pl-2.5 text-sm text-accent-ink"
              >
                <span className="min-w-0 truncate font-mono">{shown}</span>
                <IconButton
                  icon={X}
                  size="sm"
                  label={t.remove(shown)}
                  onClick={() => onChange(filters.filter((_, at) => at !== index))}
                />
              </li>
            )
          })}
        </ul>
      )}
    </div>
  )
}
