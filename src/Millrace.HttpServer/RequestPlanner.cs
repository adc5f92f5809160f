using System.Buffers.Text;
using System.Net;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Proxying;
using Millrace.HttpServer.Sessions;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer;

/// <summary>
/// Plans the responses to the requests of one reactor, in both protocols, and begins what a plan needs from elsewhere. Reactor thread only.
/// </summary>
internal sealed class RequestPlanner(SessionReactorState reactorState)
{
    private static readonly ulong ConditionNames = RequestHead.SetOf(
        FieldName.IfMatch,
        FieldName.IfNoneMatch,
        FieldName.IfModifiedSince,
        FieldName.IfUnmodifiedSince,
        FieldName.IfRange,
        FieldName.Range);

    private static readonly byte[] ChallengeType = "application/octet-stream"u8.ToArray();

    /// <summary>Enough for all values of a head, each once, with a comma and a space for each line.</summary>
    private readonly byte[] _joined = new byte[reactorState.HeadLimits.HeadBytesMax + (2 * reactorState.HeadLimits.FieldsMax)];
    private int _joinedBytes;

    /// <summary>Plans the response to a parsed head, or returns what the request must wait for before it is planned again.</summary>
    /// <param name="connection">The connection that it came over.</param>
    /// <param name="head">The request.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    /// <param name="earlier">What the request has waited for already.</param>
    /// <param name="binding">The site, with the snapshot that the plan is about.</param>
    /// <param name="plan">Valid if nothing is returned, until the next plan.</param>
    public PlanPreparation? Plan(
        IClientConnection connection,
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        PlanPreparation? earlier,
        out SiteBinding binding,
        out ResponsePlan plan)
    {
        _joinedBytes = 0;
        binding = reactorState.BindingFor(head, bytes);
        plan = default;
        if (reactorState.Challenges is { } challenges
            && TryPlanChallenge(challenges, head, bytes, earlier, out PlanPreparation? lookup, out plan))
        {
            return lookup;
        }

        // A request that has waited was counted before, unless it was for a challenge.
        long retryAfterSeconds = 0;
        RateLimitRule? exceeded = earlier is null or { Task: Task<ReadOnlyMemory<byte>> } && binding.Site.RateLimits is { } limits
            ? LimitExceeded(limits, connection, head, bytes, out retryAfterSeconds)
            : null;
        if (exceeded is null && binding.Site.Revalidates && earlier is not { IsRevalidated: true })
        {
            // Whether files have changed is checked elsewhere, with copies because the input may move meanwhile.
            PlanPreparation revalidation = PlanPreparation.Next(earlier, binding.Site.RevalidateAsync(
                head.Target.Path.In(bytes).ToArray(),
                QueryOf(head, bytes).ToArray(),
                ValueOf(head, bytes, FieldName.Accept).ToArray()));
            revalidation.IsRevalidated = true;
            return revalidation;
        }

        binding.AcquireLatest();
        var request = new PlanRequest
        {
            Method = head.Method,
            Path = head.Target.Path.In(bytes),
            Query = QueryOf(head, bytes),
            Conditions = head.HasAny(ConditionNames) ? ConditionsOf(head, bytes) : default,
            Accept = ValueOf(head, bytes, FieldName.Accept),
            AcceptEncoding = ValueOf(head, bytes, FieldName.AcceptEncoding),
            Origin = ValueOf(head, bytes, FieldName.Origin),
            AccessControlRequestMethod = ValueOf(head, bytes, FieldName.AccessControlRequestMethod),
            Dictionary = binding.Site.UsesDictionaries ? DictionaryFieldsOf(connection, head, bytes) : default,
            Client = binding.Site.Access.HasClients || MayBeArchive(binding.Site, head, bytes)
                ? reactorState.Clients.Of(connection, head, bytes)
                : null,
            Authorization = binding.Site.Access.HasPasswords ? ValueOf(head, bytes, FieldName.Authorization) : default,
            Verified = earlier?.Authentication ?? default,
            Authorized = earlier?.Authorized,
            Prepared = earlier?.Listing,
            UnixSeconds = reactorState.Date.UnixSecondsAt(reactorState.NowMs),
        };
        if (exceeded is not null)
        {
            plan = binding.Site.Planner.Fail(request, PlanStatus.TooManyRequests, binding.Current, reactorState.Scratch);
            AddLimitFields(exceeded, retryAfterSeconds);
            return null;
        }

        plan = binding.Site.Planner.Decide(request, binding.Current, reactorState.Scratch);
        if (!plan.IsWait)
        {
            if (plan.Body == PlanBody.Upstream && (earlier is not null || binding.Site.AuthorizedFields.Count > 0))
            {
                plan = plan with { ReplacedNames = binding.Site.AuthorizedFields, ReplacingLines = earlier?.AuthorizedLines };
            }

            return null;
        }

        return Wait(connection, head, bytes, request, earlier, binding, ref plan);
    }

    /// <summary>Begins what a plan waits for.</summary>
    private PlanPreparation? Wait(
        IClientConnection connection,
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        scoped in PlanRequest request,
        PlanPreparation? earlier,
        SiteBinding binding,
        ref ResponsePlan plan)
    {
        if (plan.Verifier is { } verifier)
        {
            // New credentials take tens of milliseconds to verify.
            _joinedBytes = 0;
            byte[] credentials = ValueOf(head, bytes, FieldName.Authorization).ToArray();
            return PlanPreparation.Next(earlier, VerifyAsync(verifier, credentials));
        }

        if (plan.ForwardAuth is { } service)
        {
            return Authorize(service, connection, head, bytes, request, earlier, binding, out plan);
        }

        PlanPreparation preparation = PlanPreparation.Next(earlier, plan.Preparation!.Made);
        preparation.Listing = plan.Preparation;
        return preparation;
    }

    /// <summary>Plans the response to a request whose upstream gives none, as an error of the site.</summary>
    public void PlanError(RequestHead head, ReadOnlySpan<byte> bytes, int status, out SiteBinding binding, out ResponsePlan plan)
    {
        _joinedBytes = 0;
        binding = reactorState.BindingFor(head, bytes);
        binding.AcquireLatest();
        var request = new PlanRequest
        {
            Method = head.Method,
            Path = head.Target.Path.In(bytes),
            Accept = ValueOf(head, bytes, FieldName.Accept),
            AcceptEncoding = ValueOf(head, bytes, FieldName.AcceptEncoding),
        };
        plan = binding.Site.Planner.Fail(request, status, binding.Current, reactorState.Scratch);
    }

    /// <summary>Whether the client prefers a page to a line of text, for an error that no plan decides on.</summary>
    public bool PrefersHtml(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _joinedBytes = 0;
        return Accept.PrefersHtml(ValueOf(head, bytes, FieldName.Accept));
    }

    /// <summary>
    /// Plans the answer to a certificate authority's validation, or has it looked up. It comes before the site's own rules, which may need
    /// credentials.
    /// </summary>
    private static bool TryPlanChallenge(
        Func<string, ValueTask<ReadOnlyMemory<byte>>> challenges,
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        PlanPreparation? earlier,
        out PlanPreparation? lookup,
        out ResponsePlan plan)
    {
        lookup = null;
        plan = default;
        if (ChallengeOf(head, bytes) is not { } token)
        {
            return false;
        }

        ValueTask<ReadOnlyMemory<byte>> found = earlier?.KeyAuthorization is { } known ? new(known) : challenges(token);
        if (!found.IsCompletedSuccessfully)
        {
            lookup = PlanPreparation.Next(earlier, found.AsTask());
            return true;
        }

        if (found.Result is not { IsEmpty: false } body)
        {
            return false;
        }

        plan = ResponsePlan.Of(GeneratedDocument.WithoutTag(body.ToArray(), ChallengeType), PlanStatus.Ok, FieldSet.Empty);
        return true;
    }

    /// <summary>The token of a validation's request; null for any other.</summary>
    private static string? ChallengeOf(RequestHead head, ReadOnlySpan<byte> bytes) =>
        head.Method is Method.Get or Method.Head ? AcmeChallengePath.TokenOf(head.Target.Path.In(bytes)) : null;

    /// <summary>Has a service decide on a request, or plans the response to one that it has refused.</summary>
    private PlanPreparation? Authorize(
        ForwardAuthRule service,
        IClientConnection connection,
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        scoped in PlanRequest request,
        PlanPreparation? earlier,
        SiteBinding binding,
        out ResponsePlan plan)
    {
        plan = default;
        PlanScratch scratch = reactorState.Scratch;
        int status;
        if (earlier?.Refusal is { } refusal && refusal.Rule == service)
        {
            if (refusal.Document is { } document)
            {
                scratch.Reset();
                plan = ResponsePlan.Of(document, refusal.Status, refusal.Fields);
                return null;
            }

            status = refusal.Status;
        }
        else if (!TryWriteTarget(request, out ReadOnlySpan<byte> target))
        {
            status = PlanStatus.UriTooLong;
        }
        else
        {
            ForwardedClient client = reactorState.ForwardedClientOf(connection);
            if (reactorState.ProxyHead.TryMakeCheck(head, bytes, service, target, client, out UpstreamRequest check))
            {
                UpstreamPool pool = reactorState.Upstreams.PoolFor(service.Target);
                return PlanPreparation.Next(earlier, ForwardAuthCheck.BeginAsync(pool, check, service, binding.Site.AuthorizedFields));
            }

            status = PlanStatus.BadRequest;
        }

        plan = binding.Site.Planner.Fail(request, status, binding.Current, scratch);
        return null;
    }

    /// <summary>
    /// Writes the target of a request as rules match it: a service that reads dot segments or escapes in another way would otherwise decide
    /// on another path.
    /// </summary>
    private bool TryWriteTarget(scoped in PlanRequest request, out ReadOnlySpan<byte> target)
    {
        var decoded = DecodedPath.Decode(request.Path, mergeSlashes: true, reactorState.Scratch);
        return UrlText.TryWriteTarget(decoded.ForAccess, request.Query, reactorState.Scratch.RuleRoom, out target);
    }

    private ConditionFields ConditionsOf(RequestHead head, ReadOnlySpan<byte> bytes) => new()
    {
        IfMatch = ValueOf(head, bytes, FieldName.IfMatch),
        IfNoneMatch = ValueOf(head, bytes, FieldName.IfNoneMatch),
        IfModifiedSince = ValueOf(head, bytes, FieldName.IfModifiedSince),
        IfUnmodifiedSince = ValueOf(head, bytes, FieldName.IfUnmodifiedSince),
        IfRange = ValueOf(head, bytes, FieldName.IfRange),
        Range = ValueOf(head, bytes, FieldName.Range),
    };

    private DictionaryFields DictionaryFieldsOf(IClientConnection connection, RequestHead head, ReadOnlySpan<byte> bytes) => new()
    {
        IsHttps = reactorState.IsClientHttps(connection, head, bytes),
        Available = ValueOf(head, bytes, FieldName.AvailableDictionary),
        SecFetchMode = ValueOf(head, bytes, FieldName.SecFetchMode),
        SecFetchSite = ValueOf(head, bytes, FieldName.SecFetchSite),
    };

    /// <summary>Archives are counted by client.</summary>
    private static bool MayBeArchive(Site site, RequestHead head, ReadOnlySpan<byte> bytes) =>
        site.Archives is not null && !QueryOf(head, bytes).IsEmpty;

    private RateLimitRule? LimitExceeded(
        RateLimitRules limits, IClientConnection connection, RequestHead head, ReadOnlySpan<byte> bytes, out long retryAfterSeconds)
    {
        PathReadings path = default;
        if (limits.HasPaths)
        {
            var decoded = DecodedPath.Decode(head.Target.Path.In(bytes), mergeSlashes: true, reactorState.Scratch);
            path = new PathReadings(decoded.ForAccess, reactorState.Scratch);
        }

        IPAddress? client = reactorState.Clients.Of(connection, head, bytes);
        return reactorState.RateLimiter.Exceeded(limits, client, path, reactorState.NowMs, out retryAfterSeconds);
    }

    /// <summary>Adds Retry-After, and the fields of draft-ietf-httpapi-ratelimit-headers-11.</summary>
    private void AddLimitFields(RateLimitRule exceeded, long retryAfterSeconds)
    {
        PlanScratch scratch = reactorState.Scratch;
        Span<byte> number = stackalloc byte[20];
        _ = Utf8Formatter.TryFormat(retryAfterSeconds, number, out int digits);
        scratch.Add(PlanFieldName.RetryAfter, number[..digits]);
        scratch.Add(PlanFieldName.RateLimitPolicy, exceeded.Policy.Span);
        ReadOnlySpan<byte> name = exceeded.PolicyName.Span;
        Span<byte> room = scratch.ValueRoom(name.Length + ";r=0;t="u8.Length + digits);
        name.CopyTo(room);
        ";r=0;t="u8.CopyTo(room[name.Length..]);
        number[..digits].CopyTo(room[(name.Length + ";r=0;t="u8.Length)..]);
        scratch.Commit(PlanFieldName.RateLimit, name.Length + ";r=0;t="u8.Length + digits);
    }

    private static async Task<AuthenticationResult> VerifyAsync(BasicAuthentication access, byte[] authorization) =>
        new(access, await access.VerifyAsync(authorization).ConfigureAwait(false));

    /// <summary>The query without its '?'; empty for none.</summary>
    private static ReadOnlySpan<byte> QueryOf(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> query = head.Target.Query.In(bytes);
        return query.IsEmpty ? query : query[1..];
    }

    /// <summary>
    /// A field as one value: the only line, or all lines joined by commas (RFC 9110, section 5.3), which is rare and is copied. Empty if
    /// the field is absent. May be read once per head.
    /// </summary>
    private ReadOnlySpan<byte> ValueOf(RequestHead head, ReadOnlySpan<byte> bytes, FieldName name)
    {
        if (!head.TryGet(name, out TextRange first))
        {
            return default;
        }

        FieldValues values = head.ValuesOf(name);
        _ = values.MoveNext();
        if (!values.MoveNext())
        {
            return first.In(bytes);
        }

        int start = _joinedBytes;
        _joinedBytes += head.Join(name, bytes, _joined.AsSpan(start));
        return _joined.AsSpan(start, _joinedBytes - start);
    }
}

/// <summary>
/// What a request waits for before it can be planned (verification of its credentials, a service that decides, revalidation of its site, a
/// long listing, the proof for an authority), with the results of its earlier waits. Belongs to the session.
/// </summary>
internal sealed class PlanPreparation
{
    private PlanPreparation(Task task) => Task = task;

    /// <summary>The task that it waits for.</summary>
    public Task Task { get; private set; }

    public AuthenticationResult Authentication { get; private set; }

    /// <summary>The rules whose services have let it pass, and the fields that they set for the application.</summary>
    public ForwardAuthRule[] Authorized { get; private set; } = [];

    public byte[] AuthorizedLines { get; private set; } = [];

    /// <summary>The answer of a service that does not let it pass.</summary>
    public ForwardAuthAnswer? Refusal { get; private set; }

    public bool IsRevalidated { get; set; }

    /// <summary>What an authority's validation is answered with; empty for nothing, null if it was not sought.</summary>
    public ReadOnlyMemory<byte>? KeyAuthorization { get; private set; }

    /// <summary>The listing that its plan needs.</summary>
    public ListingPreparation? Listing { get; set; }

    /// <summary>A copy of the head, in the form of HTTP/1.1, if the session does not keep it in its input: it is parsed again.</summary>
    public byte[]? Head { get; set; }

    public static PlanPreparation Next(PlanPreparation? earlier, Task task)
    {
        PlanPreparation next = earlier ?? new PlanPreparation(task);
        next.Task = task;
        return next;
    }

    /// <summary>Waits for the task, takes its result, and throws its exception.</summary>
    public async Task CompleteAsync()
    {
        await Task.ConfigureAwait(false);
        if (Task is Task<AuthenticationResult> verification)
        {
            Authentication = await verification.ConfigureAwait(false);
        }
        else if (Task is Task<ReadOnlyMemory<byte>> challenge)
        {
            KeyAuthorization = await challenge.ConfigureAwait(false);
        }
        else if (Task is Task<ForwardAuthAnswer> check)
        {
            Take(await check.ConfigureAwait(false));
        }
    }

    private void Take(ForwardAuthAnswer answer)
    {
        if (answer.IsGranted)
        {
            Authorized = [.. Authorized, answer.Rule];
            AuthorizedLines = [.. AuthorizedLines, .. answer.CopiedLines];
        }
        else
        {
            Refusal = answer;
        }
    }
}
