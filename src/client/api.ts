// Generated from the OpenAPI document by `npm run client`: do not edit.

/** Routes that take an Idempotency-Key. */
export const keyedRoutes = ['POST /send', 'POST /deals', 'POST /events'] as const

export interface paths {
    "/api/v1/contacts": {
               /** Look up an address in every list, or in one */
        get: operations["findContacts"];
        /** Create or update one contact, or up to 500, in a list */
        post: operations["upsertContacts"];
    };
    "/api/v1/lists": {
               /** List the lists of the account by name */
        get: operations["listLists"];
    };
    "/api/v1/lists/{id}/contacts/{email}": {
        /** Remove an address from a list; from its last list it leaves the account. No event fires */
        delete: operations["removeContact"];
    };
    "/api/v1/erasures": {
        /** Erase an address and everything that is stored about it; no event fires */
        post: operations["eraseAddress"];
    };
    "/api/v1/lists/{id}/contacts": {
               /** List the contacts of a list, in the order in which their addresses were added to the account */
        get: operations["listContacts"];
    };
    "/api/v1/segments": {
               /** List the segments, oldest first */
        get: operations["listSegments"];
        /** Create a segment: the contacts of a list that meet a filter */
        post: operations["createSegment"];
    };
    "/api/v1/segments/{id}": {
               /** Show a segment and how many contacts are in it now */
        get: operations["getSegment"];
        /** Delete a segment; its contacts stay. Not while an unsent broadcast uses it */
        delete: operations["deleteSegment"];
        /** Change the name or the filter of a segment */
        patch: operations["updateSegment"];
    };
    "/api/v1/send": {
        /** Send one email, with your own content or from a project */
        post: operations["sendEmail"];
    };
    "/api/v1/sends": {
               /** List the emails of the account, newest first */
        get: operations["listSends"];
    };
    "/api/v1/sends/{id}": {
               /** Show an email and what its recipient did */
        get: operations["getSend"];
        /** Cancel a pending email of a call with all of its copies */
        delete: operations["cancelSend"];
    };
    "/api/v1/suppressions": {
               /** List suppressed addresses, by address */
        get: operations["listSuppressions"];
    };
    "/api/v1/suppressions/{email}": {
        /** Suppress an address, or make it leave one topic */
        put: operations["createSuppression"];
        /** Remove the suppression of an address, or make it return to one topic; complaints stay */
        delete: operations["deleteSuppression"];
    };
    "/api/v1/topics": {
               /** List the topics that people can leave, oldest first */
        get: operations["listTopics"];
    };
    "/api/v1/preferences/{email}": {
               /** Show which marketing an address gets */
        get: operations["getPreferences"];
        /** Change which marketing an address gets */
        put: operations["updatePreferences"];
    };
    "/api/v1/broadcasts": {
               /** List the broadcasts, newest first */
        get: operations["listBroadcasts"];
        /** Create a draft of an email to many people; nothing is sent yet */
        post: operations["createBroadcast"];
    };
    "/api/v1/broadcasts/{id}": {
               /** Show a broadcast, how far it is, and its results */
        get: operations["getBroadcast"];
        /** Delete a draft, or a broadcast that was cancelled before anything was sent */
        delete: operations["deleteBroadcast"];
        /** Change a draft; null restores the default */
        patch: operations["updateBroadcast"];
    };
    "/api/v1/broadcasts/{id}/test": {
        /** Send a test email of a broadcast, with [Test] in its subject and without tracking */
        post: operations["testBroadcast"];
    };
    "/api/v1/broadcasts/{id}/send": {
        /** Send a draft, at its time or at once */
        post: operations["sendBroadcast"];
    };
    "/api/v1/broadcasts/{id}/cancel": {
        /** Stop a broadcast: its unsent emails fail, and their volume is returned */
        post: operations["cancelBroadcast"];
    };
    "/api/v1/broadcasts/{id}/pause": {
        /** Pause a broadcast */
        post: operations["pauseBroadcast"];
    };
    "/api/v1/broadcasts/{id}/resume": {
        /** Continue a paused broadcast where it stopped */
        post: operations["resumeBroadcast"];
    };
    "/api/v1/liveview/{token}": {
               /** Get a sent email as its recipient sees it: blocks, theme and answers */
        get: operations["getLiveView"];
    };
    "/api/v1/liveview/{token}/interactions": {
        /** Answer a block of a sent email */
        post: operations["answerBlock"];
    };
    "/api/v1/pipelines": {
               /** List the pipelines with their stages, the default pipeline first */
        get: operations["listPipelines"];
    };
    "/api/v1/deals": {
        /** Create a deal for a contact; calls with the same Idempotency-Key create it once */
        post: operations["createDeal"];
    };
    "/api/v1/deals/{id}": {
        /** Update a deal, or move it to another stage of its pipeline */
        patch: operations["updateDeal"];
    };
    "/api/v1/journeys": {
               /** List the journeys, most recently updated first */
        get: operations["listJourneys"];
    };
    "/api/v1/journeys/{id}/trigger": {
        /** Add an address to a list and start an API-triggered journey for it */
        post: operations["triggerJourney"];
    };
    "/api/v1/courses/{id}/enroll": {
        /** Give an address access to a course and its membership, or revoke it */
        post: operations["enrollMember"];
    };
    "/api/v1/courses/{id}/embed-token": {
        /** Create a portal URL that signs an entitled member in; it is valid for 5 minutes */
        post: operations["createEmbedToken"];
    };
    "/api/v1/webinars": {
               /** List the webinars that take registrations, newest first */
        get: operations["listWebinars"];
        /** Schedule a webinar that takes registrations */
        post: operations["createWebinar"];
    };
    "/api/v1/webinars/{id}/register": {
        /** Register a person for a seat, or for the waitlist when the webinar is full */
        post: operations["registerAttendee"];
    };
    "/api/v1/events": {
        /** Report what a person did, which can start journeys; calls with the same Idempotency-Key record it once */
        post: operations["reportEvent"];
    };
    "/api/v1/webhooks": {
               /** List the webhook subscriptions, newest first */
        get: operations["listWebhooks"];
        /** Subscribe a URL to events; only this response contains the secret */
        post: operations["createWebhook"];
    };
    "/api/v1/webhooks/{id}": {
        /** Delete a subscription and cancel its pending deliveries */
        delete: operations["deleteWebhook"];
    };
    "/api/v1/events/sample": {
               /** Get sample events in the exact shape of real deliveries */
        get: operations["sampleEvents"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Error: {
            /** @description One sentence that names the field or the reason */
            error: string;
        };
        /** @description An address in one list */
        Contact: {
            /** @description Id of the list */
            listId: string;
            /** @description Name of the list */
            listName: string;
            /** @description Id of the address in the account, the same in every list */
            rowId: string;
            /** @description The address, in lower case; a malformed one is kept too */
            email: string;
            /** @description Column name to value, at most 40 columns */
            fields: {
                [key: string]: string;
            };
            /**
             * @description `pending` until the person confirms a signup with double opt-in
             * @enum {string}
             */
            status: "active" | "pending";
            /** @description What the server knows about the address; null until it is checked */
            verification: {
                /**
                 * @description The verdict: `invalid` addresses get no email
                 * @enum {string}
                 */
                status: "valid" | "risky" | "invalid" | "unknown";
                /** @description Every reason that applies, such as `no_mx` or `disposable`; empty if the address is valid */
                reasons: string[];
                /** @description When the address was checked, in epoch ms */
                checkedAt: number;
            } | null;
            /** @description When the address was added to the list, in epoch ms */
            createdAt: number;
            /** @description When the contact last changed, in epoch ms */
            updatedAt: number;
        };
        /** @description What a call wrote */
        ContactUpsertResult: {
            /** @description Number of addresses that were added to the list */
            created: number;
            /** @description Number of addresses that the list had, also without a change */
            updated: number;
            /** @description Number of new addresses that the plan has no room for */
            skipped: number;
            /** @description The contact; only after a call with one contact */
            contact?: components["schemas"]["Contact"];
        };
        /** @description A list of contacts */
        ContactList: {
            /** @description Id of the list */
            id: string;
            /** @description Name of the list, unique in the account */
            name: string;
            /** @description Names of its columns, at most 40 */
            fields: string[];
            /** @description Number of its contacts */
            rowCount: number;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /** @description When its name, its columns or the number of its contacts last changed, in epoch ms */
            updatedAt: number;
        };
        /** @description The contacts of a list that meet a filter */
        Segment: {
            /** @description Id of the segment */
            id: string;
            /** @description Name of the segment, unique in the account */
            name: string;
            /** @description Id of the list whose contacts it selects */
            listId: string;
            /** @description The filter, such as `plan = pro and opened < 30d` */
            where: string;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /**
             * @description Its list was deleted: it can only be deleted too
             * @constant
             */
            listDeleted?: true;
        };
        /** @description A segment with the number of its contacts */
        SegmentDetail: {
            /** @description Id of the segment */
            id: string;
            /** @description Name of the segment, unique in the account */
            name: string;
            /** @description Id of the list whose contacts it selects */
            listId: string;
            /** @description The filter, such as `plan = pro and opened < 30d` */
            where: string;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /**
             * @description Its list was deleted: it can only be deleted too
             * @constant
             */
            listDeleted?: true;
            /** @description Number of contacts that are in it now */
            count: number;
        };
        /** @description The result of a call */
        SendResult: {
            /** @description Id of the email */
            id: string;
            /**
             * @description `sent`: the relay accepted it; `pending`: it is sent later; `failed`: see `error`; `suppressed`: see `reason`
             * @enum {string}
             */
            status: "pending" | "sent" | "failed" | "suppressed";
            /** @description Why it was suppressed, such as `unsubscribed`; absent otherwise */
            reason?: string;
            /** @description Why it failed; absent otherwise */
            error?: string;
            /** @description Addresses of `cc` and `bcc` that were left out; absent if there are none */
            suppressed?: string[];
        };
        /** @description An email of the account, with what its recipient did */
        SendRecord: {
            /** @description Id of the email */
            id: string;
            /** @description The address of the recipient; empty after its erasure */
            to: string;
            /** @description The subject, at most 200 characters */
            subject: string;
            /**
             * @description The type of its call
             * @enum {string}
             */
            type: "transactional" | "marketing";
            /**
             * @description `sent`: the relay accepted it; `pending`: it has not ended
             * @enum {string}
             */
            status: "pending" | "sent" | "failed" | "suppressed";
            /** @description Why it failed or was suppressed; else null */
            error: string | null;
            /** @description When it was accepted, in epoch ms */
            createdAt: number;
            /** @description When the relay accepted it, in epoch ms; null: it was not sent */
            sentAt: number | null;
            /** @description When its call asked to send it, in epoch ms; null: as soon as possible */
            scheduledAt: number | null;
            /** @description Whether a person opened it; clicks and answers count too */
            opened: boolean;
            /** @description Whether a person followed one of its links */
            clicked: boolean;
            /** @description Whether a report says that it was not delivered */
            bounced: boolean;
        };
        /** @description An address that gets no email, or no marketing */
        Suppression: {
            /** @description The address, in lower case */
            email: string;
            /**
             * @description `unsubscribed` stops marketing only; the other reasons stop every email
             * @enum {string}
             */
            reason: "complained" | "bounced" | "manual" | "unsubscribed";
            /** @description When the address was suppressed, in epoch ms */
            createdAt: number;
            /** @description Id of the topic that the person left; null: it is for all topics */
            topicId: string | null;
            /** @description Name of the topic; null: it is for all topics */
            topic: string | null;
        };
        /** @description A kind of marketing email that people can leave */
        Topic: {
            /** @description Id of the topic */
            id: string;
            /** @description Name of the topic, which recipients see */
            name: string;
            /** @description What it is about, for recipients; may be empty */
            description: string;
            /** @description When it was created, in epoch ms */
            createdAt: number;
        };
        /** @description Which marketing an address gets */
        Preferences: {
            /** @description Topic id to whether the person gets its emails */
            topics: {
                [key: string]: boolean;
            };
            /** @description false: the person has unsubscribed from all marketing, or is suppressed for another reason */
            everything: boolean;
        };
        /** @description One email to the contacts of lists and segments */
        Broadcast: {
            /** @description Id of the broadcast */
            id: string;
            /** @description Name of the broadcast */
            name: string;
            /**
             * @description `scheduled`: it waits for its time; `done`: every email has ended
             * @enum {string}
             */
            status: "draft" | "scheduled" | "sending" | "paused" | "done" | "cancelled";
            /** @description Id of the list, or of the first one of several; null: every address */
            listId: string | null;
            /** @description Lists of its recipients, if there are several, segments beside them, or exclusions */
            listIds?: string[];
            /** @description Id of the segment of its recipients; absent: it has none, or has `segmentIds` */
            segmentId?: string;
            /** @description Segments of its recipients, if there are several, lists beside them, or exclusions */
            segmentIds?: string[];
            /**
             * @description Every address with an active contact
             * @constant
             */
            all?: true;
            /** @description The filter of the contacts of each list, or that of the segment */
            where?: string;
            /** @description Lists whose addresses are left out */
            excludeListIds?: string[];
            /** @description Segments whose addresses are left out */
            excludeSegmentIds?: string[];
            /** @description Id of the project that it renders */
            projectId: string;
            /** @description The version that is sent; null: it has not been sent */
            projectVersion: number | null;
            /** @description Id of its topic; absent: it has none */
            topicId?: string;
            /** @description The subject, with unfilled merge tags; null: its project was deleted */
            subject: string | null;
            /** @description The sender; null: the account has none */
            from: {
                /** @description Address of the sender */
                email: string;
                /** @description Name beside the address; may be empty */
                name: string;
            } | null;
            /** @description Where replies go; null: to the sender */
            replyTo: string | null;
            /** @description Maximum emails per minute; null: unlimited */
            rate: number | null;
            /** @description When it begins, in epoch ms; null: when it is sent */
            scheduledAt: number | null;
            /** @description Number of its recipients; of a draft, when it last changed */
            recipients: number;
            /** @description Number of emails that have not ended */
            queued: number;
            /** @description Number of emails that a relay accepted */
            sent: number;
            /** @description Number of emails that failed */
            failed: number;
            /** @description Number of emails that were suppressed */
            suppressed: number;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /** @description When its first emails were queued, in epoch ms; null: not yet */
            startedAt: number | null;
            /** @description When its last email ended, in epoch ms; null: not yet */
            endedAt: number | null;
            /** @description Why it was cancelled, if no person cancelled it */
            reason?: string;
        };
        /** @description A broadcast with its results */
        BroadcastDetail: {
            /** @description Id of the broadcast */
            id: string;
            /** @description Name of the broadcast */
            name: string;
            /**
             * @description `scheduled`: it waits for its time; `done`: every email has ended
             * @enum {string}
             */
            status: "draft" | "scheduled" | "sending" | "paused" | "done" | "cancelled";
            /** @description Id of the list, or of the first one of several; null: every address */
            listId: string | null;
            /** @description Lists of its recipients, if there are several, segments beside them, or exclusions */
            listIds?: string[];
            /** @description Id of the segment of its recipients; absent: it has none, or has `segmentIds` */
            segmentId?: string;
            /** @description Segments of its recipients, if there are several, lists beside them, or exclusions */
            segmentIds?: string[];
            /**
             * @description Every address with an active contact
             * @constant
             */
            all?: true;
            /** @description The filter of the contacts of each list, or that of the segment */
            where?: string;
            /** @description Lists whose addresses are left out */
            excludeListIds?: string[];
            /** @description Segments whose addresses are left out */
            excludeSegmentIds?: string[];
            /** @description Id of the project that it renders */
            projectId: string;
            /** @description The version that is sent; null: it has not been sent */
            projectVersion: number | null;
            /** @description Id of its topic; absent: it has none */
            topicId?: string;
            /** @description The subject, with unfilled merge tags; null: its project was deleted */
            subject: string | null;
            /** @description The sender; null: the account has none */
            from: {
                /** @description Address of the sender */
                email: string;
                /** @description Name beside the address; may be empty */
                name: string;
            } | null;
            /** @description Where replies go; null: to the sender */
            replyTo: string | null;
            /** @description Maximum emails per minute; null: unlimited */
            rate: number | null;
            /** @description When it begins, in epoch ms; null: when it is sent */
            scheduledAt: number | null;
            /** @description Number of its recipients; of a draft, when it last changed */
            recipients: number;
            /** @description Number of emails that have not ended */
            queued: number;
            /** @description Number of emails that a relay accepted */
            sent: number;
            /** @description Number of emails that failed */
            failed: number;
            /** @description Number of emails that were suppressed */
            suppressed: number;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /** @description When its first emails were queued, in epoch ms; null: not yet */
            startedAt: number | null;
            /** @description When its last email ended, in epoch ms; null: not yet */
            endedAt: number | null;
            /** @description Why it was cancelled, if no person cancelled it */
            reason?: string;
            /** @description The results of each subject; absent: it has one */
            variants?: {
                /** @description The subject */
                subject: string;
                /** @description Emails that a relay accepted */
                sent: number;
                /** @description People who opened one; clicks and answers count too */
                opened: number;
                /** @description People who followed a link */
                clicked: number;
                /** @description People who answered a block */
                answered: number;
            }[];
            /** @description The subject that the rest gets; null: not decided; absent: it has one subject */
            winner?: string | null;
            /** @description What machines did, which its results leave out; absent: nothing */
            machines?: {
                /** @description Emails that machines opened */
                opens: number;
                /** @description Links that machines followed, once for each email */
                clicks: number;
            };
            stats: components["schemas"]["BroadcastResults"];
            /** @description Its results divided by the number of its emails */
            rates: {
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                opened: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                clicked: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                answered: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                unsubscribed: number | null;
                /** @description Of the sent emails, 0 to 1; null: there are none */
                bounced: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                complained: number | null;
            };
            /** @description The average of these rates over the last broadcasts before it; null: there are none */
            average: {
                /** @description Number of broadcasts that it is computed from, 1 to 5 */
                broadcasts: number;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                opened: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                clicked: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                answered: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                unsubscribed: number | null;
                /** @description Of the sent emails, 0 to 1; null: there are none */
                bounced: number | null;
                /** @description Of the delivered emails, 0 to 1; null: there are none */
                complained: number | null;
            } | null;
        };
        /** @description Numbers of emails and of people */
        BroadcastResults: {
            /** @description Emails that a relay accepted */
            sent: number;
            /** @description Emails that failed */
            failed: number;
            /** @description Emails that were cancelled */
            cancelled: number;
            /** @description Emails that were suppressed */
            suppressed: number;
            /** @description Emails that were sent, and reported as not delivered */
            bounced: number;
            /** @description Emails that were reported as unwanted */
            complained: number;
            /** @description Emails that were sent and not bounced */
            delivered: number;
            /** @description People who opened one; clicks and answers count too */
            opened: number;
            /** @description People who followed a link */
            clicked: number;
            /** @description People who answered a block */
            answered: number;
            /** @description People who unsubscribed by the link of one */
            unsubscribed: number;
            /** @description The links that people followed, most clicks first */
            links: {
                /** @description The link as its author wrote it */
                url: string;
                /** @description Number of clicks by people */
                clicks: number;
                /** @description Number of people who followed it */
                people: number;
            }[];
            /** @description All days from the first to the last one with a number */
            days: {
                /** @description The UTC day, `YYYY-MM-DD` */
                date: string;
                /** @description Emails that a relay accepted */
                sent: number;
                /** @description Emails that failed */
                failed: number;
                /** @description Emails that were cancelled */
                cancelled: number;
                /** @description Emails that were suppressed */
                suppressed: number;
                /** @description Emails that were sent, and reported as not delivered */
                bounced: number;
                /** @description Emails that were reported as unwanted */
                complained: number;
                /** @description Emails that were sent and not bounced */
                delivered: number;
                /** @description People who opened one; clicks and answers count too */
                opened: number;
                /** @description People who followed a link */
                clicked: number;
                /** @description People who answered a block */
                answered: number;
                /** @description People who unsubscribed by the link of one */
                unsubscribed: number;
            }[];
        };
        /** @description What became of a test */
        BroadcastTest: {
            /** @description Id of the email */
            id: string;
            /**
             * @description `sent`: the relay accepted it; `pending`: it is sent later; `failed`: see `error`; `suppressed`: see `reason`
             * @enum {string}
             */
            status: "pending" | "sent" | "failed" | "suppressed";
            /** @description Why it was suppressed, such as `unsubscribed`; absent otherwise */
            reason?: string;
            /** @description Why it failed; absent otherwise */
            error?: string;
            /** @description Addresses of `cc` and `bcc` that were left out; absent if there are none */
            suppressed?: string[];
            /** @description The version of the project that was rendered */
            projectVersion: number;
            /** @description The result of each subject; absent: it has one */
            variants?: {
                /** @description Id of the email */
                id: string;
                /**
                 * @description `sent`: the relay accepted it; `pending`: it is sent later; `failed`: see `error`; `suppressed`: see `reason`
                 * @enum {string}
                 */
                status: "pending" | "sent" | "failed" | "suppressed";
                /** @description Why it was suppressed, such as `unsubscribed`; absent otherwise */
                reason?: string;
                /** @description Why it failed; absent otherwise */
                error?: string;
                /** @description Addresses of `cc` and `bcc` that were left out; absent if there are none */
                suppressed?: string[];
                /** @description The subject */
                subject: string;
            }[];
        };
        /** @description A sent email as its recipient sees it */
        LiveView: {
            /** @description The project of the email */
            project: {
                /** @description Id of the project */
                id: string;
                /** @description Name of the project */
                name: string;
            };
            /** @description Colours, fonts and logo of the project */
            theme: {
                [key: string]: unknown;
            };
            /** @description The blocks in order, with their merge tags filled; booking blocks also have `slots` */
            blocks: {
                [key: string]: unknown;
            }[];
            /** @description The recipient of the email */
            recipient: {
                /** @description Id of the email */
                id: string;
                /** @description Merge data: field name to value */
                fields: {
                    [key: string]: string;
                };
            };
            /** @description Block id to the answer of the recipient */
            state: {
                [key: string]: {
                    /** @description The kind of the answer, such as `vote` */
                    kind: string;
                    /** @description The answer; its type depends on the kind */
                    value: unknown;
                    /** @description When it was given, in epoch ms */
                    answeredAt: number;
                };
            };
            /** @description When the email was created, in epoch ms */
            createdAt: number;
        };
        /** @description A pipeline with its stages */
        Pipeline: {
            /** @description Id of the pipeline */
            id: string;
            /** @description Name of the pipeline */
            name: string;
            /** @description Whether deals that name no pipeline go here */
            isDefault: boolean;
            /** @description Its stages, in the order of the board */
            stages: {
                /** @description Id of the stage */
                id: string;
                /** @description Name of the stage */
                name: string;
                /**
                 * @description The status that its deals have
                 * @enum {string}
                 */
                kind: "open" | "won" | "lost";
            }[];
        };
        /** @description A deal with a contact, in a stage of a pipeline */
        Deal: {
            /** @description Id of the deal */
            id: string;
            /** @description At most 200 characters */
            title: string;
            /** @description The amount in units of the currency, with at most two decimals */
            value: number;
            /** @description Three letters, upper case, such as `USD` */
            currency: string;
            /** @description Id of its pipeline */
            pipelineId: string;
            /** @description Id of its stage */
            stageId: string;
            /** @description Name of its stage */
            stage: string | null;
            /**
             * @description The kind of its stage
             * @enum {string}
             */
            status: "open" | "won" | "lost";
            /**
             * @description What created it
             * @enum {string}
             */
            source: "manual" | "journey" | "booking" | "checkout" | "proposal" | "api";
            /** @description Id of the list of its contact */
            listId: string;
            /** @description Id of the address of its contact */
            rowId: string;
            /** @description The address of its contact */
            email: string;
        };
        /** @description A journey: steps that a contact takes */
        Journey: {
            /** @description Id of the journey */
            id: string;
            /** @description Name of the journey */
            name: string;
            /** @description Whether contacts can enter it */
            enabled: boolean;
            /** @description What starts it; `api`: a call of `POST /journeys/{id}/trigger` */
            triggerKind: string;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /** @description When it last changed, in epoch ms */
            updatedAt: number;
        };
        /** @description A live session */
        Webinar: {
            /** @description Id of the webinar */
            id: string;
            /** @description The title, at most 200 characters */
            title: string;
            /**
             * @description Who can join; always `registration` in the API
             * @enum {string}
             */
            accessMode: "registration" | "subscribers";
            /**
             * @description The state of the session
             * @enum {string}
             */
            status: "scheduled" | "live" | "ended" | "cancelled";
            /** @description When it begins, in epoch ms; null: no time yet */
            scheduledAt: number | null;
            /** @description When it started, in epoch ms; null: not yet */
            startedAt: number | null;
            /** @description When it ended, in epoch ms; null: not yet */
            endedAt: number | null;
            /** @description Id of the course that it belongs to; null: none */
            courseId: string | null;
            /** @description Number of seats; null: no limit */
            capacity: number | null;
            /** @description Number of people with a seat */
            registeredCount: number;
            /** @description Number of people on the waitlist */
            waitlistedCount: number;
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /** @description When it last changed, in epoch ms */
            updatedAt: number;
        };
        /** @description A URL that gets events of the account; its secret is never part of it */
        WebhookSubscription: {
            /** @description Id of the subscription */
            id: string;
            /** @description Id of the key that created it; absent if none did */
            apiKeyId?: string;
            /**
             * Format: uri
             * @description Where events are posted
             */
            url: string;
            /** @description The event types that it gets */
            events: components["schemas"]["EventType"][];
            /**
             * @description What created it; `dashboard`: the command `svc`
             * @enum {string}
             */
            createdVia: "dashboard" | "api" | "connector_a" | "connector_b";
            /**
             * @description `disabled`: it gets no events
             * @enum {string}
             */
            status: "active" | "disabled";
            /**
             * @description Why it is disabled: its endpoint answered 410, or its key was revoked; absent if an operator disabled it
             * @enum {string}
             */
            disabledReason?: "gone" | "api-key-revoked";
            /** @description When it was created, in epoch ms */
            createdAt: number;
            /** @description When a delivery last succeeded, in epoch ms */
            lastDeliveryAt?: number;
            /** @description When a delivery last failed, in epoch ms */
            lastFailureAt?: number;
            /** @description Why the last failed delivery failed */
            lastError?: string;
        };
        /**
         * @description What an event is about
         * @enum {string}
         */
        EventType: "interaction.received" | "form.submitted" | "contact.created" | "contact.updated" | "lead.hot" | "lead.new" | "booking.created" | "booking.cancelled" | "deal.created" | "deal.stage_changed" | "purchase.completed" | "journey.completed";
        /** @description An event; `type` determines the shape of `data` */
        WebhookEvent: components["schemas"]["InteractionReceivedEvent"] | components["schemas"]["FormSubmittedEvent"] | components["schemas"]["ContactCreatedEvent"] | components["schemas"]["ContactUpdatedEvent"] | components["schemas"]["LeadHotEvent"] | components["schemas"]["LeadNewEvent"] | components["schemas"]["BookingCreatedEvent"] | components["schemas"]["BookingCancelledEvent"] | components["schemas"]["DealCreatedEvent"] | components["schemas"]["DealStageChangedEvent"] | components["schemas"]["PurchaseCompletedEvent"] | components["schemas"]["JourneyCompletedEvent"];
        /** @description Fires when a recipient opens, clicks, votes, rates, answers a quiz or a form, books or pays in an email */
        InteractionReceivedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "interaction.received";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                /** @description What the recipient did */
                interaction: {
                    /** @description Id of the interaction */
                    id: string;
                    /**
                     * @description What the recipient did
                     * @enum {string}
                     */
                    kind: "open" | "click" | "vote" | "rating" | "quiz" | "form" | "booking" | "purchase";
                    /** @description Id of the block in the project; null for what concerns no block, such as an open */
                    blockId: string | null;
                    /** @description The answer: a scalar, the choices, or the fields of a form by name. Its type depends on `kind` */
                    value: (string | number | boolean | null) | (string | number | boolean | null)[] | {
                        [key: string]: string | number | boolean | null;
                    };
                    /** @description When it happened, in epoch ms */
                    at: number;
                };
                /** @description The project of the email */
                project: {
                    /** @description Id of the project */
                    id: string;
                    /** @description Name of the project */
                    name: string;
                };
                /** @description The recipient of the email */
                recipient: {
                    /** @description Address of the recipient */
                    email: string;
                    /** @description Id of the address in the account; null if the account has no such address */
                    rowId: string | null;
                };
                /** @description Where the email came from */
                source: {
                    /**
                     * @description What sent the email
                     * @enum {string}
                     */
                    kind: "send" | "journey" | "lifecycle";
                    /** @description Id of the message, of the journey, or `<webinar or course id>:<event>` */
                    id: string;
                };
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when somebody submits a signup form (`source` `signup-form`) or a form inside an email (`email-form`) */
        FormSubmittedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "form.submitted";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                /**
                 * @description Whether the form is in an email or a signup form
                 * @enum {string}
                 */
                source: "email-form" | "signup-form";
                /** @description The form, or the block of the email */
                form: {
                    /** @description Id of the form */
                    id: string;
                    /** @description Name of the form */
                    name: string;
                };
                /** @description The answers: field name to value */
                fields: {
                    [key: string]: string;
                };
                /** @description The contact of the person; null if there is none */
                contact: components["schemas"]["Contact"] | null;
                /** @description When it was submitted, in epoch ms */
                submittedAt: number;
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a contact is added to a list */
        ContactCreatedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "contact.created";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                contact: components["schemas"]["Contact"];
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a contact's fields change; identical data fires nothing */
        ContactUpdatedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "contact.updated";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                contact: components["schemas"]["Contact"];
                /** @description Names of the columns that changed */
                changed: string[];
                /** @description Column name to its value before; empty if it had none */
                previous: {
                    [key: string]: string;
                };
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a lead score reaches the threshold from below */
        LeadHotEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "lead.hot";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                contact: components["schemas"]["Contact"];
                /** @description The score now, in points */
                score: number;
                /** @description The score before, in points */
                previousScore: number;
                /** @description The score from which a lead is hot, in points */
                threshold: number;
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a new lead arrives by a signup form or by a form in an email */
        LeadNewEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "lead.new";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                contact: components["schemas"]["Contact"];
                /**
                 * @description Whether the form is in an email or a signup form
                 * @enum {string}
                 */
                source: "email-form" | "signup-form";
                /** @description The form, or the block of the email */
                form: {
                    /** @description Id of the form */
                    id: string;
                    /** @description Name of the form */
                    name: string;
                };
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a time is booked */
        BookingCreatedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "booking.created";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                /** @description The booking */
                booking: {
                    /** @description Id of the booking */
                    id: string;
                    /** @description Title of the meeting */
                    title: string;
                    /** @description When the meeting begins, in epoch ms */
                    startAt: number;
                    /** @description When the meeting ends, in epoch ms */
                    endAt: number;
                    /** @description IANA time zone of the host, such as `Europe/Lisbon` */
                    timezone: string;
                    /** @description The person who booked */
                    attendee: {
                        /** @description Name of the attendee */
                        name: string;
                        /** @description Address of the attendee */
                        email: string;
                    };
                };
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a booking is cancelled; moving one fires neither booking event */
        BookingCancelledEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "booking.cancelled";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                /** @description The booking */
                booking: {
                    /** @description Id of the booking */
                    id: string;
                    /** @description Title of the meeting */
                    title: string;
                    /** @description When the meeting begins, in epoch ms */
                    startAt: number;
                    /** @description When the meeting ends, in epoch ms */
                    endAt: number;
                    /** @description IANA time zone of the host, such as `Europe/Lisbon` */
                    timezone: string;
                    /** @description The person who booked */
                    attendee: {
                        /** @description Name of the attendee */
                        name: string;
                        /** @description Address of the attendee */
                        email: string;
                    };
                };
                /**
                 * @description Who cancelled it
                 * @enum {string}
                 */
                cancelledBy: "attendee" | "host";
                /** @description The reason that was given; null if none was */
                reason: string | null;
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a deal is created, whatever its origin */
        DealCreatedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "deal.created";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                deal: components["schemas"]["Deal"];
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a deal moves to another stage, won and lost included */
        DealStageChangedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "deal.stage_changed";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                deal: components["schemas"]["Deal"];
                /** @description Id of the stage before */
                fromStageId: string;
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a recipient pays a checkout block */
        PurchaseCompletedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "purchase.completed";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                /** @description The order */
                purchase: {
                    /** @description Id of the order */
                    id: string;
                    /** @description The total in units of the currency */
                    amount: number;
                    /** @description Three letters, upper case */
                    currency: string;
                    /** @description What was bought */
                    items: {
                        /** @description Name of the item */
                        name: string;
                        /** @description How many were bought */
                        quantity: number;
                        /** @description The price of one in units of the currency */
                        amount: number;
                    }[];
                    /** @description When it was paid, in epoch ms */
                    paidAt: number;
                };
                /** @description The project of the email */
                project: {
                    /** @description Id of the project */
                    id: string;
                    /** @description Name of the project */
                    name: string;
                };
                /** @description The contact of the buyer; null if there is none */
                contact: components["schemas"]["Contact"] | null;
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
        /** @description Fires when a contact reaches the end of a journey; an early exit does not count */
        JourneyCompletedEvent: {
            /** @description Id of the event, the same for every subscription and every attempt */
            id: string;
            /**
             * @description The event type
             * @enum {string}
             */
            type: "journey.completed";
            /** @description When it happened, in epoch ms */
            createdAt: number;
            /** @description What happened */
            data: {
                /** @description The journey */
                journey: {
                    /** @description Id of the journey */
                    id: string;
                    /** @description Name of the journey */
                    name: string;
                };
                /** @description Id of the run */
                runId: string;
                contact: components["schemas"]["Contact"];
                /** @description When the contact entered the journey, in epoch ms */
                enteredAt: number;
                /** @description When the contact reached its end, in epoch ms */
                completedAt: number;
                /**
                 * @description Only in a test: what it says did not happen
                 * @constant
                 */
                test?: true;
            };
        };
    };
}
export type $defs = Record<string, never>;
export interface operations {
    findContacts: {
        parameters: {
            query: {
                /** @description The address to look up */
                email: string;
                /** @description Only the contact in this list. Default: those in all lists */
                listId?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description Most recently updated first; empty if no list has the address */
                        contacts: components["schemas"]["Contact"][];
                    };
                };
            };
        };
    };
    upsertContacts: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id of the list */
                    listId: string;
                    /** @description 1 to 500 contacts. Every property except `email` is a column name with its value */
                    contacts: ({
                        /** @description The address, at most 320 characters. It is trimmed and lowercased; any text is stored and verified */
                        email: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } | {
                    /** @description Id of the list */
                    listId: string;
                    /** @description The address, at most 320 characters. It is trimmed and lowercased; any text is stored and verified */
                    email: string;
                    /** @description Column name (1 to 100 characters) to string (at most 10,000 characters), number, boolean or null; nested values are ignored. New names become columns. Default: no change */
                    fields?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": components["schemas"]["ContactUpsertResult"];
                };
            };
            /** @description Created */
            201: {
                content: {
                    "application/json": components["schemas"]["ContactUpsertResult"];
                };
            };
        };
    };
    listLists: {
        parameters: {
            query?: never;
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description By name */
                        lists: components["schemas"]["ContactList"][];
                    };
                };
            };
        };
    };
    removeContact: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the list */
                id: string;
                /** @description The address, at most 320 characters. It is trimmed and lowercased; any text is stored and verified */
                email: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description false: it was not in the list */
                        deleted: boolean;
                    };
                };
            };
        };
    };
    eraseAddress: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The address, at most 320 characters. It is trimmed and lowercased; any text is stored and verified */
                    email: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description false: nothing was stored about it */
                        erased: boolean;
                    };
                };
            };
        };
    };
    listContacts: {
        parameters: {
            query?: {
                /** @description Only contacts that meet this filter, such as `plan = pro`; at most 10,000 characters. Default: all */
                where?: string;
                /** @description Rows of the page, 1 to 500 */
                limit?: number;
                /** @description The `next` of the page before. Default: the first page */
                cursor?: string;
            };
            path: {
                /** @description Id of the list */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The rows of the page */
                        contacts: components["schemas"]["Contact"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
        };
    };
    listSegments: {
        parameters: {
            query?: {
                /** @description Rows of the page, 1 to 500 */
                limit?: number;
                /** @description The `next` of the page before. Default: the first page */
                cursor?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The rows of the page */
                        segments: components["schemas"]["Segment"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
        };
    };
    createSegment: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the segment, 1 to 200 characters, unique in the account */
                    name: string;
                    /** @description The list whose contacts it selects */
                    listId: string;
                    /** @description The filter, such as `plan = pro and opened < 30d` */
                    where: string;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                content: {
                    "application/json": {
                        segment: components["schemas"]["Segment"];
                    };
                };
            };
        };
    };
    getSegment: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the segment */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        segment: components["schemas"]["SegmentDetail"];
                    };
                };
            };
        };
    };
    deleteSegment: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the segment */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description false: there was none */
                        deleted: boolean;
                    };
                };
            };
        };
    };
    updateSegment: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the segment */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the segment, 1 to 200 characters, unique in the account */
                    name?: string;
                    /** @description The filter, such as `plan = pro and opened < 30d` */
                    where?: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        segment: components["schemas"]["Segment"];
                    };
                };
            };
        };
    };
    sendEmail: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: email
                     * @description The recipient
                     */
                    to: string;
                    /** @description Up to 10 addresses that get a copy; only for transactional email without a project. Default: none */
                    cc?: string[];
                    /** @description As `cc`, but no other recipient sees them. Default: none */
                    bcc?: string[];
                    /**
                     * @description `marketing` is not sent to people who unsubscribed, and has a link to unsubscribe in one click
                     * @default transactional
                     * @enum {string}
                     */
                    type?: "transactional" | "marketing";
                    /** @description The sender. Default: `senderId`, else the default sender of the account */
                    from?: {
                        /**
                         * Format: email
                         * @description A sender of the account, or an address on a verified domain
                         */
                        email: string;
                        /** @description The name beside the address, at most 200 characters. Default: none */
                        name?: string;
                    };
                    /** @description A sender of the account, with its name and reply-to. Default: `from`, else the default sender */
                    senderId?: string;
                    /**
                     * Format: email
                     * @description Where replies go. Default: the reply-to of the sender
                     */
                    replyTo?: string;
                    /** @description Cut to 200 characters; required without a project. Default: the name of the project */
                    subject?: string;
                    /** @description The HTML, sent as it is; required without a project. Default: the project is rendered */
                    html?: string;
                    /** @description The plain text, sent as it is; required without a project. Default: the project is rendered */
                    text?: string;
                    /** @description The project to render. Default: the email has `subject`, `html` and `text` */
                    projectId?: string;
                    /** @description The topic, only for marketing: people who left it get no email. Default: no topic */
                    topicId?: string;
                    /** @description Values of the merge tags of the project: at most 100 fields; nested values are dropped. Default: none */
                    mergeData?: {
                        [key: string]: unknown;
                    };
                    /** @description At most 20 headers to add: `X-…` (name of at most 100 characters), `References` and `In-Reply-To`, each of at most 998 characters. Default: none */
                    headers?: {
                        [key: string]: string;
                    };
                    /** @description At most 20 files with at most 10 MB in all. Default: none */
                    attachments?: {
                        /** @description Name of the file, 1 to 200 characters, without path separators */
                        filename: string;
                        /** @description Such as `text/csv; charset=utf-8`, at most 200 characters. Default: `application/octet-stream` */
                        contentType?: string;
                        /** @description The file in base64 (RFC 4648, section 4); all files together at most 10 MB */
                        content: string;
                        /** @description Makes the file inline: the HTML refers to it by `cid:<contentId>`; at most 200 characters. Default: a plain attachment */
                        contentId?: string;
                    }[];
                    /** @description When to send it, in epoch ms, between now and 30 days from now. Default: at once */
                    scheduledAt?: number;
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": components["schemas"]["SendResult"];
                };
            };
        };
    };
    listSends: {
        parameters: {
            query?: {
                /** @description Only emails to this address. Default: all */
                email?: string;
                /** @description Only emails with this status. Default: all */
                status?: "pending" | "sent" | "failed" | "suppressed";
                /** @description Rows of the page, 1 to 500 */
                limit?: number;
                /** @description The `next` of the page before. Default: the first page */
                cursor?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The rows of the page */
                        sends: components["schemas"]["SendRecord"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
        };
    };
    getSend: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the email */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        send: components["schemas"]["SendRecord"];
                    };
                };
            };
        };
    };
    cancelSend: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the email */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description false: it was cancelled before */
                        cancelled: boolean;
                        /** @description Copies that are being sent or were sent; absent if there are none */
                        notCancelled?: {
                            /** @description Id of the email */
                            id: string;
                            /** @description The address of its recipient */
                            to: string;
                            /** @description `pending`: it is being sent; otherwise its end */
                            status: string;
                        }[];
                    };
                };
            };
        };
    };
    listSuppressions: {
        parameters: {
            query?: {
                /** @description Only this address. Default: all */
                email?: string;
                /** @description Only this reason. Default: all */
                reason?: "complained" | "bounced" | "manual" | "unsubscribed";
                /** @description Rows of the page, 1 to 500 */
                limit?: number;
                /** @description The `next` of the page before. Default: the first page */
                cursor?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The rows of the page */
                        suppressions: components["schemas"]["Suppression"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
        };
    };
    createSuppression: {
        parameters: {
            query?: never;
            path: {
                /** @description The address, at most 320 characters */
                email: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `unsubscribed` stops marketing only; `manual` stops every email
                     * @enum {string}
                     */
                    reason: "unsubscribed" | "manual";
                    /** @description Stops only marketing of this topic; the reason is `unsubscribed`. Default: all topics */
                    topicId?: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        suppression: components["schemas"]["Suppression"];
                    };
                };
            };
        };
    };
    deleteSuppression: {
        parameters: {
            query?: {
                /** @description Only return to this topic. Default: the suppression ends, and topics that the address left stay left */
                topicId?: string;
            };
            path: {
                /** @description The address, at most 320 characters */
                email: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description false: there was none */
                        deleted: boolean;
                    };
                };
            };
        };
    };
    listTopics: {
        parameters: {
            query?: {
                /** @description Rows of the page, 1 to 500 */
                limit?: number;
                /** @description The `next` of the page before. Default: the first page */
                cursor?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The rows of the page */
                        topics: components["schemas"]["Topic"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
        };
    };
    getPreferences: {
        parameters: {
            query?: never;
            path: {
                /** @description The address, at most 320 characters */
                email: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": components["schemas"]["Preferences"];
                };
            };
        };
    };
    updatePreferences: {
        parameters: {
            query?: never;
            path: {
                /** @description The address, at most 320 characters */
                email: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Topic id to whether the person wants its emails, at most 50. Default: topics that are left out stay as they are */
                    topics?: {
                        [key: string]: boolean;
                    };
                    /** @description false: unsubscribes from all marketing; true: takes that back, and no other suppression. Default: it stays as it is */
                    everything?: boolean;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": components["schemas"]["Preferences"];
                };
            };
        };
    };
    listBroadcasts: {
        parameters: {
            query?: {
                /** @description Rows of the page, 1 to 500 */
                limit?: number;
                /** @description The `next` of the page before. Default: the first page */
                cursor?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The rows of the page */
                        broadcasts: components["schemas"]["Broadcast"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
        };
    };
    createBroadcast: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Name of the broadcast, 1 to 200 characters. Default: the name of the project */
                    name?: string;
                    /** @description The list of its recipients. Default: none */
                    listId?: string;
                    /** @description Up to 100 lists; one email for each address. Default: none */
                    listIds?: string[];
                    /** @description The segment of its recipients. Default: none */
                    segmentId?: string;
                    /** @description Up to 100 segments. Default: none */
                    segmentIds?: string[];
                    /** @description Every address with an active contact. Default: false */
                    all?: boolean;
                    /** @description Only contacts of the lists that meet this filter. Default: all */
                    where?: string;
                    /** @description Lists whose addresses are left out, up to 100. Default: none */
                    excludeListIds?: string[];
                    /** @description Segments whose addresses are left out, up to 100. Default: none */
                    excludeSegmentIds?: string[];
                    /** @description The project to render */
                    projectId: string;
                    /** @description Its topic: people who left it get no email. Default: none */
                    topicId?: string;
                    /** @description One subject of 1 to 500 characters, or up to four of which each recipient gets one. Default: the name of the project */
                    subject?: string | string[];
                    /** @description Percentage of recipients who get the variants, 1 to 99; the rest gets the best one. Default: all get variants */
                    share?: number;
                    /**
                     * @description The rate that decides which variant is the best, with `share`. Default: none
                     * @enum {string}
                     */
                    winner?: "opened" | "clicked" | "answered";
                    /** @description When the best one is chosen, `1m` to `30d` after the last email of the share was queued, with `share`. Default: none */
                    after?: string;
                    /** @description Id or address of a sender. Default: the default sender of the account */
                    sender?: string;
                    /**
                     * Format: email
                     * @description Where replies go. Default: the reply-to of the sender
                     */
                    replyTo?: string;
                    /** @description When to begin, in epoch ms; not before it is sent. Default: when it is sent */
                    scheduledAt?: number;
                    /** @description Maximum emails per minute, 1 to 1,000,000. Default: unlimited */
                    rate?: number;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
        };
    };
    getBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["BroadcastDetail"];
                    };
                };
            };
        };
    };
    deleteBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description false: there was none */
                        deleted: boolean;
                    };
                };
            };
        };
    };
    updateBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The list of its recipients. Default: none */
                    listId?: string;
                    /** @description Up to 100 lists; one email for each address. Default: none */
                    listIds?: string[];
                    /** @description The segment of its recipients. Default: none */
                    segmentId?: string;
                    /** @description Up to 100 segments. Default: none */
                    segmentIds?: string[];
                    /** @description Every address with an active contact. Default: false */
                    all?: boolean;
                    /** @description Only contacts of the lists that meet this filter. Default: all */
                    where?: string;
                    /** @description Lists whose addresses are left out, up to 100. Default: none */
                    excludeListIds?: string[];
                    /** @description Segments whose addresses are left out, up to 100. Default: none */
                    excludeSegmentIds?: string[];
                    /** @description Name of the broadcast, 1 to 200 characters. Default: the name of the project */
                    name?: string;
                    /** @description The project to render */
                    projectId?: string;
                    /** @description Its topic: people who left it get no email. Default: none */
                    topicId?: string | null;
                    /** @description One subject of 1 to 500 characters, or up to four of which each recipient gets one. Default: the name of the project */
                    subject?: (string | string[]) | null;
                    /** @description Percentage of recipients who get the variants, 1 to 99; the rest gets the best one. Default: all get variants */
                    share?: number;
                    /**
                     * @description The rate that decides which variant is the best, with `share`. Default: none
                     * @enum {string}
                     */
                    winner?: "opened" | "clicked" | "answered";
                    /** @description When the best one is chosen, `1m` to `30d` after the last email of the share was queued, with `share`. Default: none */
                    after?: string;
                    /** @description Id or address of a sender. Default: the default sender of the account */
                    sender?: string | null;
                    /**
                     * Format: email
                     * @description Where replies go. Default: the reply-to of the sender
                     */
                    replyTo?: string | null;
                    /** @description When to begin, in epoch ms; not before it is sent. Default: when it is sent */
                    scheduledAt?: number | null;
                    /** @description Maximum emails per minute, 1 to 1,000,000. Default: unlimited */
                    rate?: number | null;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
        };
    };
    testBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: email
                     * @description The recipient of the test
                     */
                    to: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": components["schemas"]["BroadcastTest"];
                };
            };
        };
    };
    sendBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
        };
    };
    cancelBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
        };
    };
    pauseBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
        };
    };
    resumeBroadcast: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the broadcast */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
        };
    };
    getLiveView: {
        parameters: {
            query?: never;
            path: {
                /** @description The signed token of a link to the live view */
                token: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": components["schemas"]["LiveView"];
                };
            };
        };
    };
    answerBlock: {
        parameters: {
            query?: never;
            path: {
                /** @description The signed token of a link to the live view */
                token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id of the block */
                    blockId: string;
                    /** @description The answer; its type depends on the block */
                    value: unknown;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /**
                         * @description The answer is stored
                         * @constant
                         */
                        ok: true;
                        /** @description Whether it repeats an earlier answer */
                        duplicate: boolean;
                        /** @description Where to pay; only for checkout blocks */
                        redirectUrl?: string;
                    };
                };
            };
        };
    };
    listPipelines: {
        parameters: {
            query?: never;
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The default pipeline first */
                        pipelines: components["schemas"]["Pipeline"][];
                    };
                };
            };
        };
    };
    createDeal: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The title, 1 to 200 characters */
                    title: string;
                    /**
                     * Format: email
                     * @description The address of its contact. Default: `listId` and `rowId` name the contact
                     */
                    email?: string;
                    /** @description The list of its contact. Default: the most recently updated list that has `email` */
                    listId?: string;
                    /** @description The address of its contact in `listId`. Default: `email` names the contact */
                    rowId?: string;
                    /**
                     * @description The amount in units of the currency, 0 to 9,999,999,999.99, rounded to cents
                     * @default 0
                     */
                    value?: number | string;
                    /**
                     * @description Three letters, such as `EUR`
                     * @default USD
                     */
                    currency?: string;
                    /** @description Its pipeline. Default: that of `stageId`, else the default pipeline */
                    pipelineId?: string;
                    /** @description Its stage. Default: the first open stage of the pipeline */
                    stageId?: string;
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        deal: components["schemas"]["Deal"];
                        /** @description false: an earlier call with the same Idempotency-Key created it */
                        created: boolean;
                    };
                };
            };
            /** @description Created */
            201: {
                content: {
                    "application/json": {
                        deal: components["schemas"]["Deal"];
                        /** @description false: an earlier call with the same Idempotency-Key created it */
                        created: boolean;
                    };
                };
            };
        };
    };
    updateDeal: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the deal */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The title, 1 to 200 characters */
                    title?: string;
                    /** @description The amount in units of the currency, 0 to 9,999,999,999.99, rounded to cents */
                    value?: number | string;
                    /** @description Three letters, such as `EUR` */
                    currency?: string;
                    /** @description A stage of its own pipeline */
                    stageId?: string;
                } & (unknown | unknown | unknown | unknown);
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        deal: components["schemas"]["Deal"];
                        /** @description Whether its stage changed */
                        moved: boolean;
                    };
                };
            };
        };
    };
    listJourneys: {
        parameters: {
            query?: {
                /** @description Only journeys of this trigger kind, such as `api`. Default: all */
                trigger?: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description Most recently updated first */
                        journeys: components["schemas"]["Journey"][];
                    };
                };
            };
        };
    };
    triggerJourney: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the journey */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: email
                     * @description The address that enters the journey
                     */
                    email: string;
                    /** @description The list of the contact; an address that is not in it is added first */
                    listId: string;
                    /** @description Merge data of the run: at most 100 fields and 64 KB; nested values are dropped. Default: none */
                    data?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /**
                         * @description Also if the re-entry rule keeps the contact out
                         * @constant
                         */
                        ok: true;
                    };
                };
            };
        };
    };
    enrollMember: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the course */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: email
                     * @description The address of the person
                     */
                    email: string;
                    /**
                     * @description false revokes the access. Default: true
                     * @default true
                     */
                    active?: boolean;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description Id of the member */
                        subscriberId: string;
                        /** @description Whether the member has access */
                        active: boolean;
                    };
                };
            };
        };
    };
    createEmbedToken: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the course */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: email
                     * @description The address of the person
                     */
                    email: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /**
                         * Format: uri
                         * @description For an iframe or a window; it signs the member in and is valid for 5 minutes
                         */
                        portalUrl: string;
                    };
                };
            };
        };
    };
    listWebinars: {
        parameters: {
            query?: never;
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description Newest first */
                        webinars: components["schemas"]["Webinar"][];
                    };
                };
            };
        };
    };
    createWebinar: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The title, 1 to 200 characters after trimming */
                    title: string;
                    /** @description When it begins, in epoch ms, at most the end of the year 9999. Default: no time yet */
                    scheduledAt?: number | null;
                    /** @description The course that it belongs to. Default: none */
                    courseId?: string | null;
                    /** @description Number of seats, 0 to 2,147,483,647. Default: no limit */
                    capacity?: number | null;
                    /** @description How long it lasts, 1 to 1,440 minutes. Default: 60 */
                    durationMinutes?: number | null;
                    /** @description IANA time zone of the times in emails and on pages, at most 100 characters. Default: that of the account */
                    timezone?: string | null;
                    /** @description What it is about, at most 2,000 characters. Default: none */
                    description?: string | null;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                content: {
                    "application/json": {
                        webinar: components["schemas"]["Webinar"];
                    };
                };
            };
        };
    };
    registerAttendee: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the webinar */
                id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: email
                     * @description The address of the person
                     */
                    email: string;
                    /** @description The name of the person, 1 to 200 characters */
                    name: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /**
                         * @description `waitlisted`: all seats are taken
                         * @enum {string}
                         */
                        status: "confirmed" | "waitlisted";
                        /**
                         * Format: uri
                         * @description The page to join, with the token of the person; null on the waitlist
                         */
                        joinUrl: string | null;
                    };
                };
            };
        };
    };
    reportEvent: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description What happened: 1 to 64 of `a-z 0-9 _ . -`, beginning with a letter */
                    name: string;
                    /**
                     * Format: email
                     * @description The address of the person
                     */
                    email: string;
                    /** @description The list of the contact; an address that is not in it is added first. Default: the most recently updated list that has the address */
                    listId?: string;
                    /** @description Merge data of the journeys that the event starts: at most 100 fields and 64 KB; nested values are dropped. Default: none */
                    data?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description Id of the recorded event */
                        id: string;
                        /** @description Number of journeys that the event started */
                        journeys: number;
                    };
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: never;
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description Newest first */
                        subscriptions: components["schemas"]["WebhookSubscription"][];
                    };
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uri
                     * @description Where events are posted: a public http or https URL, at most 2,048 characters
                     */
                    url: string;
                    /** @description 1 to 100 event types. Default: only `event` */
                    events?: components["schemas"]["EventType"][];
                    /** @description One event type, in place of `events` or added to them. Default: only `events` */
                    event?: components["schemas"]["EventType"];
                    /**
                     * @description The automation platform that subscribes. Default: none, which shows as `api`
                     * @enum {string}
                     */
                    source?: "connector_a" | "connector_b";
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description Created */
            201: {
                content: {
                    "application/json": {
                        /** @description Id of the subscription */
                        id: string;
                        /** @description The signing secret, which no other response contains */
                        secret: string;
                        subscription: components["schemas"]["WebhookSubscription"];
                    };
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            path: {
                /** @description Id of the subscription */
                id: string;
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /**
                         * @description It is deleted
                         * @constant
                         */
                        ok: true;
                    };
                };
            };
        };
    };
    sampleEvents: {
        parameters: {
            query?: {
                /** @description Only a sample of this type. Default: one of each type */
                type?: components["schemas"]["EventType"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                content: {
                    "application/json": {
                        /** @description The samples */
                        events: components["schemas"]["WebhookEvent"][];
                    };
                };
            };
        };
    };
}
