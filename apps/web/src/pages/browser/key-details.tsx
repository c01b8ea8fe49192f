import { useInfiniteQuery } from '@tanstack/react-query'
import { Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { editKey, type KeyText, type KeyView, keyQuery, type ServiceRef } from '../../api/keys.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextArea } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { Grid, type GridColumn } from './grid.tsx'

const t = texts.keys

interface KeyDetailsProps {
  service: ServiceRef
  chosen: KeyText
  onDeleted: () => void
}

type Item = KeyView['items'][number]

/** The value of a key by its type. Texts and fields of hashes can be changed. */
export function KeyDetails({ service, chosen, onDeleted }: KeyDetailsProps) {
  const query = useInfiniteQuery(keyQuery(service, chosen))
  const [edited, setEdited] = useState<Item | null>(null)
  const [deleting, setDeleting] = useState(false)
  const shown = typeof chosen === 'string' ? chosen : chosen.base64
  return (
    <section aria-label={t.value} className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
        <h3 className="min-w-0 flex-1 truncate font-mono font-medium">{shown}</h3>
        <Button size="sm" icon={Trash2} onClick={() => setDeleting(true)}>
          {t.delete}
        </Button>
      </div>
      <Loaded query={query} rows={4}>
        {({ pages }) => {
          const [first] = pages
          const items = pages.flatMap((page) => page.items)
          const mayEdit = first?.type === 'string' || first?.type === 'hash'
          return (
            <>
              <p className="numbers px-3 py-1.5 text-sm text-ink-2">
                {first !== undefined && t.facts(first.type, first.length, first.ttlMs)}
              </p>
              <Grid
                label={t.value}
                columns={columnsOf(first?.type)}
                rows={items.map(({ name, value, score }) => {
                  if (first?.type === 'zset') return [value, score]
                  return hasNames(first?.type) ? [name, value] : [value]
                })}
                {...(mayEdit
                  ? {
                      actions: (row: number) =>
                        typeof items[row]?.value === 'string' && (
                          <IconButton
                            icon={Pencil}
                            size="sm"
                            label={t.edit(row + 1)}
                            onClick={() => setEdited(items[row] ?? null)}
                          />
                        ),
                    }
                  : {})}
              />
              {query.hasNextPage && (
                <div className="p-2">
                  <Button size="sm" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                    {texts.common.more}
                  </Button>
                </div>
              )}
            </>
          )
        }}
      </Loaded>
      {edited !== null && (
        <Dialog open onClose={() => setEdited(null)} title={t.editTitle(shown)}>
          <Edit service={service} chosen={chosen} item={edited} onClose={() => setEdited(null)} />
        </Dialog>
      )}
      <ConfirmDialog
        open={deleting}
        onClose={() => setDeleting(false)}
        title={t.deleteTitle(shown)}
        detail={t.deleteDetail}
        submit={t.delete}
        onConfirm={async () => {
          await editKey(service, chosen, { act: 'delete' })
          toastDone(t.deleted)
          onDeleted()
        }}
      />
    </section>
  )
}

/** Fields, indexes or ids. */
function hasNames(type: string | undefined): boolean {
  return type === 'hash' || type === 'list' || type === 'stream'
}

function columnsOf(type: string | undefined): readonly GridColumn[] {
  const column = (name: string) => ({ name, type: '', kind: 'text' })
  if (type === 'zset') return [column(t.columns.value), column(t.columns.score)]
  return hasNames(type) ? [column(t.columns.name), column(t.columns.value)] : [column(t.columns.value)]
}

function Edit({
  service,
  chosen,
  item,
  onClose,
}: {
  service: ServiceRef
  chosen: KeyText
  item: Item
  onClose: () => void
}) {
  const [value, setValue] = useState(typeof item.value === 'string' ? item.value : '')
  const { busy, error, run } = useSubmit()
  const submit = () =>
    run(async () => {
      const { name } = item
      await editKey(
        service,
        chosen,
        typeof name === 'string' ? { act: 'set-field', field: name, value } : { act: 'set', value },
      )
      toastDone(t.changed)
      onClose()
    })
  return (
    <Form onSubmit={submit}>
      <TextArea
        label={t.value}
        rows={6}
        value={value}
        onChange={(event) => setValue(event.target.value)}
        mono
        autoFocus
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.save}
        </Button>
      </DialogActions>
    </Form>
  )
}
