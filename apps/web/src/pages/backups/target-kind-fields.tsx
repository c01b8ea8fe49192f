import type { FieldError } from '@stackquay/contract'
import { TextArea, TextField } from '../../components/field.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import type { TargetFields, TargetKind } from '../../lib/target-fields.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backupTargets

interface KindFieldsProps {
  kind: TargetKind
  fields: TargetFields
  set: (change: Partial<TargetFields>) => void
  errors: readonly FieldError[] | undefined
}

type TextName = { [Name in keyof TargetFields]: TargetFields[Name] extends string ? Name : never }[keyof TargetFields]

interface Line {
  readonly name: TextName
  readonly pointer: string
  readonly optional?: boolean
  readonly secret?: boolean
}

/** In the order in which they are asked for. */
const lines: Readonly<Record<TargetKind, readonly Line[]>> = {
  folder: [{ name: 'path', pointer: '/folder/path' }],
  s3: [
    { name: 'bucket', pointer: '/s3/bucket' },
    { name: 'endpoint', pointer: '/s3/endpoint', optional: true },
    { name: 'region', pointer: '/s3/region', optional: true },
    { name: 'prefix', pointer: '/s3/prefix', optional: true },
    { name: 'accessKeyId', pointer: '/s3/accessKeyId' },
    { name: 'secretAccessKey', pointer: '/s3/secretAccessKey', secret: true },
  ],
  sftp: [
    { name: 'host', pointer: '/sftp/host' },
    { name: 'port', pointer: '/sftp/port' },
    { name: 'user', pointer: '/sftp/user' },
    { name: 'path', pointer: '/sftp/path' },
    { name: 'password', pointer: '/sftp/password', optional: true, secret: true },
  ],
}

export function KindFields({ kind, fields, set, errors }: KindFieldsProps) {
  return (
    <>
      {lines[kind].map(({ name, pointer, optional = false, secret = false }) => (
        <TextField
          key={name}
          label={t.fields[name]}
          help={t.fieldHelp[`${kind}.${name}`]}
          optional={optional}
          required={!optional}
          type={secret ? 'password' : 'text'}
          autoComplete={secret ? 'new-password' : 'off'}
          spellCheck={false}
          value={fields[name]}
          onChange={(event) => set({ [name]: event.target.value })}
          error={errorsAt(errors, pointer)}
        />
      ))}
      {kind === 'sftp' && (
        <TextArea
          label={t.fields.privateKey}
          optional
          mono
          rows={4}
          className="sm:col-span-2"
          value={fields.privateKey}
          onChange={(event) => set({ privateKey: event.target.value })}
          error={errorsAt(errors, '/sftp/privateKey')}
        />
      )}
    </>
  )
}
