using Millrace.Http;
using Millrace.HttpServer.Http1;
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
    private static readonly byte[] ChallengeType = "application/octet-stream"u8.ToArray();

    /// <summary>Enough for all values of a head, each once, with a comma and a space for each line.</summary>
    private readonly byte[] _joined = new byte[reactorState.HeadLimits.HeadBytesMax + (2 * reactorState.HeadLimits.FieldsMax)];
    private int _joinedBytes;

    /// <summary>Plans the response to a parsed head, or returns what the request must wait for before it is planned again.</summary>
    /// <param name="head">The request.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    /// <param name="earlier">What the request has waited for already.</param>
    /// <param name="binding">The site, with the snapshot that the plan is about.</param>
    /// <param name="plan">Valid if nothing is returned, until the next plan.</param>
    public PlanPreparation? Plan(
        RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier, out SiteBinding binding, out ResponsePlan plan)
    {
        _joinedBytes = 0;
        binding = reactorState.BindingFor(head, bytes);
        if (binding.Site.Revalidates && earlier is not { IsRevalidated: true })
        {
            // Whether files have changed is checked elsewhere, with copies because the input may move meanwhile.
            plan = default;
            PlanPreparation revalidation = PlanPreparation.Next(earlier, binding.Site.RevalidateAsync(
                head.Target.Path.In(bytes).ToArray(),
                QueryOf(head, bytes).ToArray(),
                ValueOf(head, bytes, FieldName.Accept).ToArray()));
            revalidation.IsRevalidated = true;
            return revalidation;
        }

        binding.AcquireLatest();
        if (reactorState.Challenges is { } challenges && TryAnswerChallenge(challenges, head, bytes, out plan))
        {
            return null;
        }

        var request = new PlanRequest
        {
            Method = head.Method,
            Path = head.Target.Path.In(bytes),
            Query = QueryOf(head, bytes),
            Conditions = new ConditionFields
            {
                IfMatch = ValueOf(head, bytes, FieldName.IfMatch),
                IfNoneMatch = ValueOf(head, bytes, FieldName.IfNoneMatch),
                IfModifiedSince = ValueOf(head, bytes, FieldName.IfModifiedSince),
                IfUnmodifiedSince = ValueOf(head, bytes, FieldName.IfUnmodifiedSince),
                IfRange = ValueOf(head, bytes, FieldName.IfRange),
                Range = ValueOf(head, bytes, FieldName.Range),
            },
            Accept = ValueOf(head, bytes, FieldName.Accept),
            AcceptEncoding = ValueOf(head, bytes, FieldName.AcceptEncoding),
            Origin = ValueOf(head, bytes, FieldName.Origin),
            AccessControlRequestMethod = ValueOf(head, bytes, FieldName.AccessControlRequestMethod),
            AccessDecision = AccessDecisionOf(binding, head, bytes, earlier),
            Prepared = earlier?.Listing,
            UnixSeconds = reactorState.Date.UnixSecondsAt(reactorState.NowMs),
        };
        plan = binding.Site.Planner.Decide(request, binding.Current, reactorState.Scratch);
        if (plan.NeedsVerification)
        {
            // New credentials take tens of milliseconds to verify.
            _joinedBytes = 0;
            byte[] credentials = ValueOf(head, bytes, FieldName.Authorization).ToArray();
            return PlanPreparation.Next(earlier, VerifyAsync(binding.Site.Access!, credentials));
        }

        if (plan.Preparation is null)
        {
            return null;
        }

        PlanPreparation preparation = PlanPreparation.Next(earlier, plan.Preparation.Made);
        preparation.Listing = plan.Preparation;
        return preparation;
    }

    /// <summary>Whether the client prefers a page to a line of text, for an error that no plan decides on.</summary>
    public bool PrefersHtml(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _joinedBytes = 0;
        return Accept.PrefersHtml(ValueOf(head, bytes, FieldName.Accept));
    }

    /// <summary>Validations of a certificate authority come before the site's own rules, which may need credentials.</summary>
    private static bool TryAnswerChallenge(ChallengeLookup challenges, RequestHead head, ReadOnlySpan<byte> bytes, out ResponsePlan plan)
    {
        plan = default;
        ReadOnlySpan<byte> token = AcmeChallengePath.TokenOf(head.Target.Path.In(bytes));
        if (token.IsEmpty || head.Method is not (Method.Get or Method.Head) || !challenges(token, out ReadOnlyMemory<byte> body))
        {
            return false;
        }

        plan = ResponsePlan.Of(GeneratedDocument.WithoutTag(body.ToArray(), ChallengeType), PlanStatus.Ok, FieldSet.Empty);
        return true;
    }

    private AccessDecision AccessDecisionOf(SiteBinding binding, RequestHead head, ReadOnlySpan<byte> bytes, PlanPreparation? earlier)
    {
        if (binding.Site.Access is not BasicAuthentication access)
        {
            return AccessDecision.Granted;
        }

        // The site may have been replaced meanwhile: another site decides again.
        return earlier is { Authentication: var result } && result.Verifier == access
            ? result.Decision
            : access.Decide(ValueOf(head, bytes, FieldName.Authorization));
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
/// What a request waits for off the reactor before it can be planned (verification of its credentials, revalidation of its site, a long
/// listing), with the results of its earlier waits. Belongs to the session.
/// </summary>
internal sealed class PlanPreparation
{
    private PlanPreparation(Task task) => Task = task;

    /// <summary>The task that it waits for.</summary>
    public Task Task { get; private set; }

    public AuthenticationResult Authentication { get; private set; }

    public bool IsRevalidated { get; set; }

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
    }
}

/// <summary>The result of verifying a request's credentials, and the verifier that gave it; null if they were not verified.</summary>
internal readonly record struct AuthenticationResult(BasicAuthentication? Verifier, AccessDecision Decision);
