// Generated from the OpenAPI document by `npm run client`: do not edit.

/** Routes that take an Idempotency-Key. */
export const keyedRoutes = ['POST /send', 'POST /deals', 'POST /events'] as const

export interface paths {
    "/api/v1/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Look up an address in every list, or in one */
        get: operations["getContacts"];
        put?: never;
        /** Create or update one contact, or up to 500, in a list */
        post: operations["postContacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/lists": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the lists of the account by name */
        get: operations["getLists"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/lists/{id}/contacts/{email}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove an address from a list; from its last list it leaves the account. No event fires */
        delete: operations["deleteListsIdContactsEmail"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/erasures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Erase an address and everything that is stored about it; no event fires */
        post: operations["postErasures"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/lists/{id}/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the contacts of a list, in the order in which their addresses were added to the account */
        get: operations["getListsIdContacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/segments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the segments, oldest first */
        get: operations["getSegments"];
        put?: never;
        /** Create a segment: the contacts of a list that meet a filter */
        post: operations["postSegments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/segments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a segment and how many contacts are in it now */
        get: operations["getSegmentsId"];
        put?: never;
        post?: never;
        /** Delete a segment; its contacts stay. Not while an unsent broadcast uses it */
        delete: operations["deleteSegmentsId"];
        options?: never;
        head?: never;
        /** Change the name or the filter of a segment */
        patch: operations["patchSegmentsId"];
        trace?: never;
    };
    "/api/v1/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send one email, with your own content or from a project */
        post: operations["postSend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the emails of the account, newest first */
        get: operations["getSends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sends/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an email and what its recipient did */
        get: operations["getSendsId"];
        put?: never;
        post?: never;
        /** Cancel a scheduled email with all copies of its call */
        delete: operations["deleteSendsId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/suppressions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List suppressed addresses, by address */
        get: operations["getSuppressions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/suppressions/{email}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Suppress an address, or make it leave one topic */
        put: operations["putSuppressionsEmail"];
        post?: never;
        /** Remove the suppression of an address, or make it return to one topic; complaints stay */
        delete: operations["deleteSuppressionsEmail"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/topics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the topics that people can leave, oldest first */
        get: operations["getTopics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/preferences/{email}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show which marketing an address gets */
        get: operations["getPreferencesEmail"];
        /** Change which marketing an address gets */
        put: operations["putPreferencesEmail"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/broadcasts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the broadcasts, newest first */
        get: operations["getBroadcasts"];
        put?: never;
        /** Create a draft of an email to many people; nothing is sent yet */
        post: operations["postBroadcasts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/broadcasts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a broadcast, how far it is, and its results */
        get: operations["getBroadcastsId"];
        put?: never;
        post?: never;
        /** Delete a draft, or a broadcast that was cancelled before anything was sent */
        delete: operations["deleteBroadcastsId"];
        options?: never;
        head?: never;
        /** Change a draft; null restores the default */
        patch: operations["patchBroadcastsId"];
        trace?: never;
    };
    "/api/v1/broadcasts/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a test email of a broadcast, with [Test] in its subject and without tracking */
        post: operations["postBroadcastsIdTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/broadcasts/{id}/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a draft, at its time or at once */
        post: operations["postBroadcastsIdSend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/broadcasts/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a broadcast: its unsent emails fail, and their volume is returned */
        post: operations["postBroadcastsIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/broadcasts/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pause a broadcast */
        post: operations["postBroadcastsIdPause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/broadcasts/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Continue a paused broadcast where it stopped */
        post: operations["postBroadcastsIdResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/liveview/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a sent email as its recipient sees it: blocks, theme and answers */
        get: operations["getLiveviewToken"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/liveview/{token}/interactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a block of a sent email */
        post: operations["postLiveviewTokenInteractions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pipelines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the pipelines with their stages, the default pipeline first */
        get: operations["getPipelines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a deal for a contact; calls with the same Idempotency-Key create it once */
        post: operations["postDeals"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Update a deal, or move it to another stage of its pipeline */
        patch: operations["patchDealsId"];
        trace?: never;
    };
    "/api/v1/journeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the journeys, most recently updated first */
        get: operations["getJourneys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/journeys/{id}/trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add an address to a list and start an API-triggered journey for it */
        post: operations["postJourneysIdTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/courses/{id}/enroll": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an address access to a course and its membership, or revoke it */
        post: operations["postCoursesIdEnroll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/courses/{id}/embed-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a portal URL that signs an entitled member in; it is valid for 5 minutes */
        post: operations["postCoursesIdEmbedToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webinars": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the webinars that take registrations, newest first */
        get: operations["getWebinars"];
        put?: never;
        /** Schedule a webinar that takes registrations */
        post: operations["postWebinars"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webinars/{id}/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Register a person for a seat, or for the waitlist when the webinar is full */
        post: operations["postWebinarsIdRegister"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Report what a person did, which can start journeys; calls with the same Idempotency-Key record it once */
        post: operations["postEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the webhook subscriptions, newest first */
        get: operations["getWebhooks"];
        put?: never;
        /** Subscribe a URL to events; only this response contains the secret */
        post: operations["postWebhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a subscription and cancel its pending deliveries */
        delete: operations["deleteWebhooksId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/sample": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get sample events in the exact shape of real deliveries */
        get: operations["getEventsSample"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "interaction.received": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** interaction.received is delivered */
        post: operations["onInteractionReceived"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "form.submitted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** form.submitted is delivered */
        post: operations["onFormSubmitted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "contact.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** contact.created is delivered */
        post: operations["onContactCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "contact.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** contact.updated is delivered */
        post: operations["onContactUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "lead.hot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** lead.hot is delivered */
        post: operations["onLeadHot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "lead.new": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** lead.new is delivered */
        post: operations["onLeadNew"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "booking.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** booking.created is delivered */
        post: operations["onBookingCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "booking.cancelled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** booking.cancelled is delivered */
        post: operations["onBookingCancelled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "deal.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** deal.created is delivered */
        post: operations["onDealCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "deal.stage_changed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** deal.stage_changed is delivered */
        post: operations["onDealStageChanged"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "purchase.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** purchase.completed is delivered */
        post: operations["onPurchaseCompleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "journey.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** journey.completed is delivered */
        post: operations["onJourneyCompleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        Error: {
            /** @description One sentence that names the field or the reason */
            error: string;
        };
        Contact: {
            listId: string;
            listName: string;
            rowId: string;
            /** Format: email */
            email: string;
            fields: {
                [key: string]: string;
            };
            /** @enum {string} */
            status: "active" | "pending";
            verification: {
                /** @enum {string} */
                status: "valid" | "risky" | "invalid" | "unknown";
                reasons: string[];
                /** @description epoch ms */
                checkedAt: number;
            } | null;
            /** @description epoch ms */
            createdAt: number;
            /** @description epoch ms */
            updatedAt: number;
        };
        ContactUpsertResult: {
            created: number;
            updated: number;
            skipped: number;
            contact?: components["schemas"]["Contact"];
        };
        ContactList: {
            id: string;
            name: string;
            fields: string[];
            rowCount: number;
            /** @description epoch ms */
            createdAt: number;
            /** @description epoch ms */
            updatedAt: number;
        };
        Segment: {
            id: string;
            /** @description Its name, unique in the account */
            name: string;
            /** @description The list whose contacts it selects */
            listId: string;
            /** @description A filter (docs/reference/segments.md), such as `plan = pro and opened < 30d` */
            where: string;
            /** @description epoch ms */
            createdAt: number;
            /**
             * @description Its list was deleted: it can only be deleted too
             * @constant
             */
            listDeleted?: true;
        };
        SendResult: {
            id: string;
            /** @enum {string} */
            status: "pending" | "sent" | "failed" | "suppressed";
            reason?: string;
            error?: string;
            suppressed?: string[];
        };
        SendRecord: {
            id: string;
            /** @description The address of the recipient; empty after its erasure */
            to: string;
            subject: string;
            /** @enum {string} */
            type: "transactional" | "marketing";
            /** @enum {string} */
            status: "pending" | "sent" | "failed" | "suppressed";
            /** @description Why it failed or was suppressed; else null */
            error: string | null;
            /** @description epoch ms */
            createdAt: number;
            /** @description When the relay accepted it, epoch ms; null: it was not sent */
            sentAt: number | null;
            /** @description The time that its call asked for, epoch ms; null: as soon as possible */
            scheduledAt: number | null;
            /** @description A person opened it; clicks and answers count too */
            opened: boolean;
            /** @description A person followed one of its links */
            clicked: boolean;
            /** @description A report says that it was not delivered */
            bounced: boolean;
        };
        Suppression: {
            /** @description The address, normalised */
            email: string;
            /**
             * @description `unsubscribed` stops marketing only; the other reasons stop every email
             * @enum {string}
             */
            reason: "complained" | "bounced" | "manual" | "unsubscribed";
            /** @description epoch ms */
            createdAt: number;
            /** @description The topic that it left; null: it is for all topics */
            topicId: string | null;
            /** @description The name of the topic */
            topic: string | null;
        };
        Topic: {
            id: string;
            /** @description Its name, which recipients see */
            name: string;
            /** @description What it is about, for recipients; may be empty */
            description: string;
            /** @description epoch ms */
            createdAt: number;
        };
        Preferences: {
            /** @description Topic id to whether the person gets its emails */
            topics: {
                [key: string]: boolean;
            };
            /** @description false: the person has unsubscribed from all marketing, or is suppressed for another reason */
            everything: boolean;
        };
        Broadcast: {
            id: string;
            name: string;
            /** @enum {string} */
            status: "draft" | "scheduled" | "sending" | "paused" | "done" | "cancelled";
            /** @description The list, or the first one of several; null: every address */
            listId: string | null;
            /** @description Lists of recipients, if there are several */
            listIds?: string[];
            segmentId?: string;
            /** @description Segments of recipients, if there are several */
            segmentIds?: string[];
            /**
             * @description Every address with an active contact
             * @constant
             */
            all?: true;
            /** @description Filter of the contacts of each list */
            where?: string;
            /** @description Lists whose addresses are left out */
            excludeListIds?: string[];
            /** @description Segments whose addresses are left out */
            excludeSegmentIds?: string[];
            projectId: string;
            /** @description The version that is sent; null: it has not been sent */
            projectVersion: number | null;
            topicId?: string;
            /** @description With unfilled merge tags */
            subject: string | null;
            from: {
                email: string;
                name: string;
            } | null;
            replyTo: string | null;
            /** @description Most emails per minute; null: unlimited */
            rate: number | null;
            scheduledAt: number | null;
            recipients: number;
            /** @description Emails that have not ended */
            queued: number;
            sent: number;
            failed: number;
            suppressed: number;
            /** @description epoch ms */
            createdAt: number;
            startedAt: number | null;
            endedAt: number | null;
        } & {
            [key: string]: unknown;
        };
        LiveView: {
            project: {
                id: string;
                name: string;
            };
            theme: {
                [key: string]: unknown;
            };
            blocks: {
                [key: string]: unknown;
            }[];
            recipient: {
                id: string;
                fields: {
                    [key: string]: string;
                };
            };
            state: {
                [key: string]: {
                    kind: string;
                    value: unknown;
                    /** @description epoch ms */
                    answeredAt: number;
                };
            };
            /** @description epoch ms */
            createdAt: number;
        };
        Pipeline: {
            id: string;
            name: string;
            isDefault: boolean;
            stages: {
                id: string;
                name: string;
                /** @enum {string} */
                kind: "open" | "won" | "lost";
            }[];
        };
        Deal: {
            id: string;
            title: string;
            value: number;
            currency: string;
            pipelineId: string;
            stageId: string;
            stage: string | null;
            /** @enum {string} */
            status: "open" | "won" | "lost";
            /** @enum {string} */
            source: "manual" | "journey" | "booking" | "checkout" | "proposal" | "api";
            listId: string;
            rowId: string;
            /** Format: email */
            email: string;
        };
        Journey: {
            id: string;
            name: string;
            enabled: boolean;
            triggerKind: string;
            /** @description epoch ms */
            createdAt: number;
            /** @description epoch ms */
            updatedAt: number;
        };
        Webinar: {
            id: string;
            title: string;
            /** @enum {string} */
            accessMode: "registration" | "subscribers";
            /** @enum {string} */
            status: "scheduled" | "live" | "ended" | "cancelled";
            scheduledAt: number | null;
            startedAt: number | null;
            endedAt: number | null;
            courseId: string | null;
            capacity: number | null;
            registeredCount: number;
            waitlistedCount: number;
            createdAt: number;
            updatedAt: number;
        };
        WebhookSubscription: {
            id: string;
            apiKeyId?: string;
            /** Format: uri */
            url: string;
            events: ("interaction.received" | "form.submitted" | "contact.created" | "contact.updated" | "lead.hot" | "lead.new" | "booking.created" | "booking.cancelled" | "deal.created" | "deal.stage_changed" | "purchase.completed" | "journey.completed")[];
            /** @enum {string} */
            createdVia: "dashboard" | "api" | "connector_a" | "connector_b";
            /** @enum {string} */
            status: "active" | "disabled";
            /** @enum {string} */
            disabledReason?: "gone" | "api-key-revoked";
            /** @description epoch ms */
            createdAt: number;
            /** @description epoch ms */
            lastDeliveryAt?: number;
            /** @description epoch ms */
            lastFailureAt?: number;
            lastError?: string;
        };
    };
    responses: {
        /** @description Malformed JSON, or a missing or invalid field; the error names it */
        Invalid: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "email is required"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The key is missing, invalid, expired or revoked */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "Missing or invalid Authorization: Bearer <apiKey>"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Outside the scopes of the key, not included in the plan, or not entitled */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "This key does not have the required scope"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not found */
        Missing: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "There is no such list"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Conflicts with the current state, or a limit is reached */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "The plan's contact limit is reached"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is too large for this route */
        TooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "body must be at most 1 MB"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is not JSON */
        NotJson: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "Content-Type must be application/json"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The rate limit of the key is exceeded, or a monthly quota is used up */
        Limited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "Rate limit exceeded"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description An upstream service did not answer */
        Upstream: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "The payment provider did not answer"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Internal error, or (503) the service is stopping or its database is unavailable; try again */
        Fault: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "The service is not available: try again in a moment"
                 *     }
                 */
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Identifies the call in the log */
        "X-Request-Id": string;
        /** @description Calls per minute for the key and the first segment of the path */
        "RateLimit-Limit": number;
        /** @description Calls left in this minute */
        "RateLimit-Remaining": number;
        /** @description Seconds until the limit resets */
        "RateLimit-Reset": number;
        /** @description Seconds to wait before you retry */
        "Retry-After": number;
        /** @description The authentication scheme of the API */
        "WWW-Authenticate": "Bearer";
        /** @description `true` if this is the result of an earlier call with the same Idempotency-Key */
        "Idempotent-Replayed": "true";
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getContacts: {
        parameters: {
            query: {
                email: string;
                listId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        contacts: components["schemas"]["Contact"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postContacts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    listId: string;
                    /** @description Every property except `email` is a column name with its value */
                    contacts: ({
                        /** @description Any text is stored and verified */
                        email: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } | {
                    listId: string;
                    /** @description Any text is stored and verified */
                    email: string;
                    /** @description Column name to string (at most 10,000 characters), number, boolean or null; nested values are ignored */
                    fields?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactUpsertResult"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactUpsertResult"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getLists: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        lists: components["schemas"]["ContactList"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    deleteListsIdContactsEmail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                /** @description Any text is stored and verified */
                email: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description false: it was not in the list */
                        deleted: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postErasures: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Any text is stored and verified */
                    email: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description false: nothing was stored about it */
                        erased: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getListsIdContacts: {
        parameters: {
            query?: {
                /** @description Only contacts that meet this filter (docs/reference/segments.md) */
                where?: string;
                /** @description Rows of the page, 1 to 500 */
                limit?: string;
                /** @description The `next` of the page before. Absent: the first page */
                cursor?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        contacts: components["schemas"]["Contact"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getSegments: {
        parameters: {
            query?: {
                /** @description Rows of the page, 1 to 500 */
                limit?: string;
                /** @description The `next` of the page before. Absent: the first page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        segments: components["schemas"]["Segment"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postSegments: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    listId: string;
                    /** @description A filter (docs/reference/segments.md), such as `plan = pro and opened < 30d` */
                    where: string;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        segment: components["schemas"]["Segment"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getSegmentsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        segment: {
                            id: string;
                            /** @description Its name, unique in the account */
                            name: string;
                            /** @description The list whose contacts it selects */
                            listId: string;
                            /** @description A filter (docs/reference/segments.md), such as `plan = pro and opened < 30d` */
                            where: string;
                            /** @description epoch ms */
                            createdAt: number;
                            /**
                             * @description Its list was deleted: it can only be deleted too
                             * @constant
                             */
                            listDeleted?: true;
                            /** @description Contacts that are in it now */
                            count: number;
                        };
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    deleteSegmentsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description false: there was none */
                        deleted: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    patchSegmentsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    where?: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        segment: components["schemas"]["Segment"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postSend: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated key returns the result of the first call with it, marked by `Idempotent-Replayed`. Keys do not expire. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    to: string;
                    cc?: string[];
                    bcc?: string[];
                    /**
                     * @default transactional
                     * @enum {string}
                     */
                    type?: "transactional" | "marketing";
                    from?: {
                        /** Format: email */
                        email: string;
                        name?: string;
                    };
                    senderId?: string;
                    /** Format: email */
                    replyTo?: string;
                    subject?: string;
                    html?: string;
                    text?: string;
                    projectId?: string;
                    topicId?: string;
                    mergeData?: {
                        [key: string]: unknown;
                    };
                    headers?: {
                        [key: string]: string;
                    };
                    attachments?: {
                        filename: string;
                        contentType?: string;
                        content: string;
                        contentId?: string;
                    }[];
                    scheduledAt?: number;
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SendResult"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getSends: {
        parameters: {
            query?: {
                /** @description Only emails to this address */
                email?: string;
                /** @description Only emails with this status */
                status?: "pending" | "sent" | "failed" | "suppressed";
                /** @description Rows of the page, 1 to 500 */
                limit?: string;
                /** @description The `next` of the page before. Absent: the first page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        sends: components["schemas"]["SendRecord"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getSendsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        send: components["schemas"]["SendRecord"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    deleteSendsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description false: it was cancelled before */
                        cancelled: boolean;
                        /** @description Copies that are being sent or were sent. Absent: none */
                        notCancelled?: {
                            id: string;
                            to: string;
                            status: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getSuppressions: {
        parameters: {
            query?: {
                /** @description Only this address */
                email?: string;
                /** @description Only this reason */
                reason?: "complained" | "bounced" | "manual" | "unsubscribed";
                /** @description Rows of the page, 1 to 500 */
                limit?: string;
                /** @description The `next` of the page before. Absent: the first page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        suppressions: components["schemas"]["Suppression"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    putSuppressionsEmail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                email: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `unsubscribed` stops marketing only; `manual` stops every email
                     * @enum {string}
                     */
                    reason: "unsubscribed" | "manual";
                    /** @description Stops only marketing of this topic. Absent: of all topics */
                    topicId?: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        suppression: components["schemas"]["Suppression"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    deleteSuppressionsEmail: {
        parameters: {
            query?: {
                /** @description Only return to this topic */
                topicId?: string;
            };
            header?: never;
            path: {
                email: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description false: there was none */
                        deleted: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getTopics: {
        parameters: {
            query?: {
                /** @description Rows of the page, 1 to 500 */
                limit?: string;
                /** @description The `next` of the page before. Absent: the first page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        topics: components["schemas"]["Topic"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getPreferencesEmail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                email: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preferences"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    putPreferencesEmail: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                email: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Topic id to whether the person wants its emails. Topics that are left out stay as they are */
                    topics?: {
                        [key: string]: boolean;
                    };
                    /** @description false: unsubscribes from all marketing; true: takes that back, and no other suppression. Absent: it stays as it is */
                    everything?: boolean;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preferences"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getBroadcasts: {
        parameters: {
            query?: {
                /** @description Rows of the page, 1 to 500 */
                limit?: string;
                /** @description The `next` of the page before. Absent: the first page */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcasts: components["schemas"]["Broadcast"][];
                        /** @description Value of `cursor` for the next page; null on the last page */
                        next: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postBroadcasts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Default: the name of the project */
                    name?: string;
                    /** @description The list of its recipients */
                    listId?: string;
                    /** @description Several lists; one email for each address */
                    listIds?: string[];
                    /** @description The segment of its recipients */
                    segmentId?: string;
                    /** @description Several segments */
                    segmentIds?: string[];
                    /** @description Every address with an active contact */
                    all?: boolean;
                    /** @description Only contacts of the lists that meet this filter (docs/reference/segments.md) */
                    where?: string;
                    /** @description Lists whose addresses are left out */
                    excludeListIds?: string[];
                    /** @description Segments whose addresses are left out */
                    excludeSegmentIds?: string[];
                    /** @description The project to render */
                    projectId: string;
                    /** @description Its topic: people who left it get no email */
                    topicId?: string;
                    /** @description One, or up to four of which each recipient gets one. Default: the name of the project */
                    subject?: string | string[];
                    /** @description Percentage of recipients who get the variants; the rest gets the best one */
                    share?: number;
                    /**
                     * @description The rate that decides which variant is the best
                     * @enum {string}
                     */
                    winner?: "opened" | "clicked" | "answered";
                    /** @description When the best one is chosen: `4h` is 4 hours after the last email of the share was queued */
                    after?: string;
                    /** @description Id or address of a sender. Default: the default sender of the account */
                    sender?: string;
                    /**
                     * Format: email
                     * @description Default: that of the sender
                     */
                    replyTo?: string;
                    /** @description When to begin, epoch ms. Default: when it is sent */
                    scheduledAt?: number;
                    /** @description Most emails per minute. Default: unlimited */
                    rate?: number;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getBroadcastsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: {
                            id: string;
                            name: string;
                            /** @enum {string} */
                            status: "draft" | "scheduled" | "sending" | "paused" | "done" | "cancelled";
                            /** @description The list, or the first one of several; null: every address */
                            listId: string | null;
                            /** @description Lists of recipients, if there are several */
                            listIds?: string[];
                            segmentId?: string;
                            /** @description Segments of recipients, if there are several */
                            segmentIds?: string[];
                            /**
                             * @description Every address with an active contact
                             * @constant
                             */
                            all?: true;
                            /** @description Filter of the contacts of each list */
                            where?: string;
                            /** @description Lists whose addresses are left out */
                            excludeListIds?: string[];
                            /** @description Segments whose addresses are left out */
                            excludeSegmentIds?: string[];
                            projectId: string;
                            /** @description The version that is sent; null: it has not been sent */
                            projectVersion: number | null;
                            topicId?: string;
                            /** @description With unfilled merge tags */
                            subject: string | null;
                            from: {
                                email: string;
                                name: string;
                            } | null;
                            replyTo: string | null;
                            /** @description Most emails per minute; null: unlimited */
                            rate: number | null;
                            scheduledAt: number | null;
                            recipients: number;
                            /** @description Emails that have not ended */
                            queued: number;
                            sent: number;
                            failed: number;
                            suppressed: number;
                            /** @description epoch ms */
                            createdAt: number;
                            startedAt: number | null;
                            endedAt: number | null;
                            /** @description The results of several subjects */
                            variants?: {
                                subject: string;
                                sent: number;
                                opened: number;
                                clicked: number;
                                answered: number;
                            }[];
                            /** @description The subject that the rest got; null: not decided */
                            winner?: string | null;
                            /** @description Its results: emails, people, links and days */
                            stats: {
                                [key: string]: unknown;
                            };
                            /** @description Its results as parts of what was delivered, from 0 to 1 */
                            rates: {
                                [key: string]: unknown;
                            };
                            /** @description The averages of these rates of the last five broadcasts */
                            average: {
                                [key: string]: unknown;
                            } | null;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    deleteBroadcastsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description false: there was none */
                        deleted: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    patchBroadcastsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The list of its recipients */
                    listId?: string;
                    /** @description Several lists; one email for each address */
                    listIds?: string[];
                    /** @description The segment of its recipients */
                    segmentId?: string;
                    /** @description Several segments */
                    segmentIds?: string[];
                    /** @description Every address with an active contact */
                    all?: boolean;
                    /** @description Only contacts of the lists that meet this filter (docs/reference/segments.md) */
                    where?: string;
                    /** @description Lists whose addresses are left out */
                    excludeListIds?: string[];
                    /** @description Segments whose addresses are left out */
                    excludeSegmentIds?: string[];
                    name?: string;
                    projectId?: string;
                    topicId?: string | null;
                    subject?: (string | string[]) | null;
                    share?: number;
                    /** @enum {string} */
                    winner?: "opened" | "clicked" | "answered";
                    after?: string;
                    sender?: string | null;
                    replyTo?: string | null;
                    scheduledAt?: number | null;
                    rate?: number | null;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postBroadcastsIdTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
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
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @enum {string} */
                        status: "pending" | "sent" | "failed" | "suppressed";
                        reason?: string;
                        error?: string;
                        suppressed?: string[];
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postBroadcastsIdSend: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postBroadcastsIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postBroadcastsIdPause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postBroadcastsIdResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        broadcast: components["schemas"]["Broadcast"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getLiveviewToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveView"];
                };
            };
            404: components["responses"]["Missing"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postLiveviewTokenInteractions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    blockId: string;
                    value: unknown;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                        duplicate: boolean;
                        redirectUrl?: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            502: components["responses"]["Upstream"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getPipelines: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pipelines: components["schemas"]["Pipeline"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postDeals: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated key returns the result of the first call with it, marked by `Idempotent-Replayed`. Keys do not expire. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    title: string;
                    /** Format: email */
                    email?: string;
                    listId?: string;
                    rowId?: string;
                    value?: number | string;
                    currency?: string;
                    pipelineId?: string;
                    stageId?: string;
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deal: components["schemas"]["Deal"];
                        created: boolean;
                    };
                };
            };
            /** @description Created */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deal: components["schemas"]["Deal"];
                        created: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    patchDealsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    title?: string;
                    value?: number | string;
                    currency?: string;
                    stageId?: string;
                } & (unknown | unknown | unknown | unknown);
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deal: components["schemas"]["Deal"];
                        moved: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getJourneys: {
        parameters: {
            query?: {
                /** @description Only those of this trigger kind, such as `api` */
                trigger?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        journeys: components["schemas"]["Journey"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postJourneysIdTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                    listId: string;
                    data?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postCoursesIdEnroll: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                    /** @default true */
                    active?: boolean;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        subscriberId: string;
                        active: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postCoursesIdEmbedToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uri */
                        portalUrl: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getWebinars: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        webinars: components["schemas"]["Webinar"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postWebinars: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    title: string;
                    scheduledAt?: number | null;
                    courseId?: string | null;
                    capacity?: number | null;
                    durationMinutes?: number | null;
                    timezone?: string | null;
                    description?: string | null;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        webinar: components["schemas"]["Webinar"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postWebinarsIdRegister: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                    name: string;
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "confirmed" | "waitlisted";
                        joinUrl: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postEvents: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated key returns the result of the first call with it, marked by `Idempotent-Replayed`. Keys do not expire. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** Format: email */
                    email: string;
                    /** @description An address that is not in the list is added to it first */
                    listId?: string;
                    /** @description Merge data of the journeys that the event starts; nested values are dropped */
                    data?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @description The number of journeys that the event started */
                        journeys: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        subscriptions: components["schemas"]["WebhookSubscription"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    postWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uri
                     * @description Public, http or https
                     */
                    url: string;
                    events?: ("interaction.received" | "form.submitted" | "contact.created" | "contact.updated" | "lead.hot" | "lead.new" | "booking.created" | "booking.cancelled" | "deal.created" | "deal.stage_changed" | "purchase.completed" | "journey.completed")[];
                    /** @enum {string} */
                    event?: "interaction.received" | "form.submitted" | "contact.created" | "contact.updated" | "lead.hot" | "lead.new" | "booking.created" | "booking.cancelled" | "deal.created" | "deal.stage_changed" | "purchase.completed" | "journey.completed";
                    /** @enum {string} */
                    source?: "connector_a" | "connector_b";
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        secret: string;
                        subscription: components["schemas"]["WebhookSubscription"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    deleteWebhooksId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        ok: true;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["Missing"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    getEventsSample: {
        parameters: {
            query?: {
                type?: "interaction.received" | "form.submitted" | "contact.created" | "contact.updated" | "lead.hot" | "lead.new" | "booking.created" | "booking.cancelled" | "deal.created" | "deal.stage_changed" | "purchase.completed" | "journey.completed";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        events: ({
                            id: string;
                            /** @constant */
                            type: "interaction.received";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                interaction: {
                                    id: string;
                                    /** @enum {string} */
                                    kind: "open" | "click" | "vote" | "rating" | "quiz" | "form" | "booking" | "purchase";
                                    blockId: string | null;
                                    value: (string | number | boolean | null) | (string | number | boolean | null)[] | {
                                        [key: string]: string | number | boolean | null;
                                    };
                                    /** @description epoch ms */
                                    at: number;
                                };
                                project: {
                                    id: string;
                                    name: string;
                                };
                                recipient: {
                                    /** Format: email */
                                    email: string;
                                    rowId: string | null;
                                };
                                source: {
                                    /** @enum {string} */
                                    kind: "send" | "journey" | "lifecycle";
                                    id: string;
                                };
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "form.submitted";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                /** @enum {string} */
                                source: "email-form" | "signup-form";
                                form: {
                                    id: string;
                                    name: string;
                                };
                                fields: {
                                    [key: string]: string;
                                };
                                contact: components["schemas"]["Contact"] | null;
                                /** @description epoch ms */
                                submittedAt: number;
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "contact.created";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                contact: components["schemas"]["Contact"];
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "contact.updated";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                contact: components["schemas"]["Contact"];
                                changed: string[];
                                previous: {
                                    [key: string]: string;
                                };
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "lead.hot";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                contact: components["schemas"]["Contact"];
                                score: number;
                                previousScore: number;
                                threshold: number;
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "lead.new";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                contact: components["schemas"]["Contact"];
                                /** @enum {string} */
                                source: "email-form" | "signup-form";
                                form: {
                                    id: string;
                                    name: string;
                                };
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "booking.created";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                booking: {
                                    id: string;
                                    title: string;
                                    /** @description epoch ms */
                                    startAt: number;
                                    /** @description epoch ms */
                                    endAt: number;
                                    timezone: string;
                                    attendee: {
                                        name: string;
                                        /** Format: email */
                                        email: string;
                                    };
                                };
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "booking.cancelled";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                booking: {
                                    id: string;
                                    title: string;
                                    /** @description epoch ms */
                                    startAt: number;
                                    /** @description epoch ms */
                                    endAt: number;
                                    timezone: string;
                                    attendee: {
                                        name: string;
                                        /** Format: email */
                                        email: string;
                                    };
                                };
                                /** @enum {string} */
                                cancelledBy: "attendee" | "host";
                                reason: string | null;
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "deal.created";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                deal: components["schemas"]["Deal"];
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "deal.stage_changed";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                deal: components["schemas"]["Deal"];
                                fromStageId: string;
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "purchase.completed";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                purchase: {
                                    id: string;
                                    amount: number;
                                    currency: string;
                                    items: {
                                        name: string;
                                        quantity: number;
                                        amount: number;
                                    }[];
                                    /** @description epoch ms */
                                    paidAt: number;
                                };
                                project: {
                                    id: string;
                                    name: string;
                                };
                                contact: components["schemas"]["Contact"] | null;
                            };
                        } | {
                            id: string;
                            /** @constant */
                            type: "journey.completed";
                            /** @description epoch ms */
                            createdAt: number;
                            data: {
                                journey: {
                                    id: string;
                                    name: string;
                                };
                                runId: string;
                                contact: components["schemas"]["Contact"];
                                /** @description epoch ms */
                                enteredAt: number;
                                /** @description epoch ms */
                                completedAt: number;
                            };
                        })[];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["Limited"];
            "5XX": components["responses"]["Fault"];
        };
    };
    onInteractionReceived: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "interaction.received",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "interaction": {
                 *           "id": "int_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "kind": "rating",
                 *           "blockId": "rate-us",
                 *           "value": 4,
                 *           "at": 1767225600000
                 *         },
                 *         "project": {
                 *           "id": "prj_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "name": "Spring newsletter"
                 *         },
                 *         "recipient": {
                 *           "email": "ada.okafor@northwind.example",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8"
                 *         },
                 *         "source": {
                 *           "kind": "send",
                 *           "id": "msg_01kdvh9800m4x9s2q7t0e5n3c8"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "interaction.received";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        interaction: {
                            id: string;
                            /** @enum {string} */
                            kind: "open" | "click" | "vote" | "rating" | "quiz" | "form" | "booking" | "purchase";
                            blockId: string | null;
                            value: (string | number | boolean | null) | (string | number | boolean | null)[] | {
                                [key: string]: string | number | boolean | null;
                            };
                            /** @description epoch ms */
                            at: number;
                        };
                        project: {
                            id: string;
                            name: string;
                        };
                        recipient: {
                            /** Format: email */
                            email: string;
                            rowId: string | null;
                        };
                        source: {
                            /** @enum {string} */
                            kind: "send" | "journey" | "lifecycle";
                            id: string;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onFormSubmitted: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "form.submitted",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "source": "signup-form",
                 *         "form": {
                 *           "id": "frm_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "name": "Newsletter signup"
                 *         },
                 *         "fields": {
                 *           "first_name": "Ada",
                 *           "company": "Northwind Traders"
                 *         },
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1764633600000,
                 *           "updatedAt": 1767225600000
                 *         },
                 *         "submittedAt": 1767225600000
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "form.submitted";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        /** @enum {string} */
                        source: "email-form" | "signup-form";
                        form: {
                            id: string;
                            name: string;
                        };
                        fields: {
                            [key: string]: string;
                        };
                        contact: components["schemas"]["Contact"] | null;
                        /** @description epoch ms */
                        submittedAt: number;
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onContactCreated: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "contact.created",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1767225600000,
                 *           "updatedAt": 1767225600000
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "contact.created";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        contact: components["schemas"]["Contact"];
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onContactUpdated: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "contact.updated",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1764633600000,
                 *           "updatedAt": 1767225600000
                 *         },
                 *         "changed": [
                 *           "plan",
                 *           "company"
                 *         ],
                 *         "previous": {
                 *           "plan": "starter",
                 *           "company": ""
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "contact.updated";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        contact: components["schemas"]["Contact"];
                        changed: string[];
                        previous: {
                            [key: string]: string;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onLeadHot: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "lead.hot",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1764633600000,
                 *           "updatedAt": 1767225600000
                 *         },
                 *         "score": 53.5,
                 *         "previousScore": 38.5,
                 *         "threshold": 50
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "lead.hot";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        contact: components["schemas"]["Contact"];
                        score: number;
                        previousScore: number;
                        threshold: number;
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onLeadNew: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "lead.new",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1764633600000,
                 *           "updatedAt": 1767225600000
                 *         },
                 *         "source": "signup-form",
                 *         "form": {
                 *           "id": "frm_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "name": "Newsletter signup"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "lead.new";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        contact: components["schemas"]["Contact"];
                        /** @enum {string} */
                        source: "email-form" | "signup-form";
                        form: {
                            id: string;
                            name: string;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onBookingCreated: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "booking.created",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "booking": {
                 *           "id": "bkg_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "title": "Product walkthrough",
                 *           "startAt": 1767398400000,
                 *           "endAt": 1767400200000,
                 *           "timezone": "Europe/Lisbon",
                 *           "attendee": {
                 *             "name": "Ada Okafor",
                 *             "email": "ada.okafor@northwind.example"
                 *           }
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "booking.created";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        booking: {
                            id: string;
                            title: string;
                            /** @description epoch ms */
                            startAt: number;
                            /** @description epoch ms */
                            endAt: number;
                            timezone: string;
                            attendee: {
                                name: string;
                                /** Format: email */
                                email: string;
                            };
                        };
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onBookingCancelled: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "booking.cancelled",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "booking": {
                 *           "id": "bkg_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "title": "Product walkthrough",
                 *           "startAt": 1767398400000,
                 *           "endAt": 1767400200000,
                 *           "timezone": "Europe/Lisbon",
                 *           "attendee": {
                 *             "name": "Ada Okafor",
                 *             "email": "ada.okafor@northwind.example"
                 *           }
                 *         },
                 *         "cancelledBy": "attendee",
                 *         "reason": "Travelling that day"
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "booking.cancelled";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        booking: {
                            id: string;
                            title: string;
                            /** @description epoch ms */
                            startAt: number;
                            /** @description epoch ms */
                            endAt: number;
                            timezone: string;
                            attendee: {
                                name: string;
                                /** Format: email */
                                email: string;
                            };
                        };
                        /** @enum {string} */
                        cancelledBy: "attendee" | "host";
                        reason: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDealCreated: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "deal.created",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "deal": {
                 *           "id": "deal_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "title": "Annual plan, 25 seats",
                 *           "value": 12500.5,
                 *           "currency": "USD",
                 *           "pipelineId": "pipe_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "stageId": "stg_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "stage": "Qualified",
                 *           "status": "open",
                 *           "source": "api",
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "deal.created";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        deal: components["schemas"]["Deal"];
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onDealStageChanged: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "deal.stage_changed",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "deal": {
                 *           "id": "deal_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "title": "Annual plan, 25 seats",
                 *           "value": 12500.5,
                 *           "currency": "USD",
                 *           "pipelineId": "pipe_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "stageId": "stg_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "stage": "Qualified",
                 *           "status": "open",
                 *           "source": "api",
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example"
                 *         },
                 *         "fromStageId": "stg_01kdvh9800m4x9s2q7t0e5n3c8"
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "deal.stage_changed";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        deal: components["schemas"]["Deal"];
                        fromStageId: string;
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onPurchaseCompleted: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "purchase.completed",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "purchase": {
                 *           "id": "pay_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "amount": 59.8,
                 *           "currency": "USD",
                 *           "items": [
                 *             {
                 *               "name": "Field guide",
                 *               "quantity": 2,
                 *               "amount": 29.9
                 *             }
                 *           ],
                 *           "paidAt": 1767225600000
                 *         },
                 *         "project": {
                 *           "id": "prj_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "name": "Spring newsletter"
                 *         },
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1764633600000,
                 *           "updatedAt": 1767225600000
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "purchase.completed";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        purchase: {
                            id: string;
                            amount: number;
                            currency: string;
                            items: {
                                name: string;
                                quantity: number;
                                amount: number;
                            }[];
                            /** @description epoch ms */
                            paidAt: number;
                        };
                        project: {
                            id: string;
                            name: string;
                        };
                        contact: components["schemas"]["Contact"] | null;
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onJourneyCompleted: {
        parameters: {
            query?: never;
            header: {
                /** @description Unix seconds when it was sent: reject a delivery that is more than a few minutes old */
                "X-Service-Timestamp": string;
                /** @description `v1=` and the hex HMAC-SHA256 of `<timestamp>.<raw body>` under the signing secret; while an old secret still signs, a comma and its signature follow */
                "X-Service-Signature": string;
                /** @description The `id` of the event, the same for each attempt: ignore an id that you have already processed */
                "X-Service-Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "evt_01kdvh9800m4x9s2q7t0e5n3c8",
                 *       "type": "journey.completed",
                 *       "createdAt": 1767225600000,
                 *       "data": {
                 *         "journey": {
                 *           "id": "jrn_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "name": "Welcome series"
                 *         },
                 *         "runId": "run_01kdvh9800m4x9s2q7t0e5n3c8",
                 *         "contact": {
                 *           "listId": "lst_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "listName": "Customers",
                 *           "rowId": "row_01kdvh9800m4x9s2q7t0e5n3c8",
                 *           "email": "ada.okafor@northwind.example",
                 *           "fields": {
                 *             "first_name": "Ada",
                 *             "last_name": "Okafor",
                 *             "company": "Northwind Traders",
                 *             "plan": "pro"
                 *           },
                 *           "status": "active",
                 *           "verification": {
                 *             "status": "valid",
                 *             "reasons": [],
                 *             "checkedAt": 1764633600000
                 *           },
                 *           "createdAt": 1764633600000,
                 *           "updatedAt": 1767225600000
                 *         },
                 *         "enteredAt": 1766620800000,
                 *         "completedAt": 1767225600000
                 *       }
                 *     }
                 */
                "application/json": {
                    id: string;
                    /** @constant */
                    type: "journey.completed";
                    /** @description epoch ms */
                    createdAt: number;
                    data: {
                        journey: {
                            id: string;
                            name: string;
                        };
                        runId: string;
                        contact: components["schemas"]["Contact"];
                        /** @description epoch ms */
                        enteredAt: number;
                        /** @description epoch ms */
                        completedAt: number;
                    };
                };
            };
        };
        responses: {
            /** @description Gone: svc disables the subscription */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Received. After any other status, a redirect included, or no response within 5 seconds, svc retries for about 7 hours */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
