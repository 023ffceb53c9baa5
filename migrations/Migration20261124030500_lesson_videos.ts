import { Migration } from '@mikro-orm/migrations'
import { renderMarkdown } from '../src/courses/courses.markdown.ts'
import { escapeHtml } from '../src/lib/html.ts'

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Shows a content that can't be rendered as it was shown before. */
const asText = (content: string): string => `<p>${escapeHtml(content).replaceAll('\n', '<br>\n')}</p>\n`

/** Lessons have a video and their content as HTML, which is rendered here for existing ones. Members name themselves on certificates. */
export class Migration20261124030500_lesson_videos extends Migration {
  override async up(): Promise<void> {
    await this.execute(
      `alter table "lessons" add column "html" text not null default '', add column "video_url" text null`,
    )
    await this.execute(`alter table "course_completions" add column "name" text null`)
    let last = ['', '']
    for (;;) {
      const lessons = (await this.execute(
        `select "account_id" as account, "id", "content" from "lessons"
         where ("account_id", "id") > (${last.map(literal).join(', ')}) order by "account_id", "id" limit 100`,
      )) as unknown as { account: string; id: string; content: string }[]
      if (lessons.length === 0) return
      for (const { account, id, content } of lessons) {
        const html = await renderMarkdown(content).catch(() => asText(content))
        await this.execute(
          `update "lessons" set "html" = ${literal(html)} where "account_id" = ${literal(account)} and "id" = ${literal(id)}`,
        )
        last = [account, id]
      }
    }
  }

  override down(): void {
    this.addSql(`alter table "lessons" drop column "html", drop column "video_url"`)
    this.addSql(`alter table "course_completions" drop column "name"`)
  }
}
