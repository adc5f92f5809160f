using System.Security.Cryptography;
using Millrace.Acme.Challenges;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Renewal;

/// <summary>
/// One attempt to obtain a certificate, from the order, or from where an earlier process left it, to the chain. It installs nothing. Used
/// once, by one loop. The order is stored as soon as its URL is known, and removed when it cannot lead to a certificate any more.
/// </summary>
internal sealed class OrderRun(LoopContext context, CertificateFolder folder, IReadOnlyList<string> names, AcmeKeyKinds kind)
{
    private static readonly TimeSpan ValidationMax = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan IssuanceMax = TimeSpan.FromMinutes(15);

    /// <summary>The attempts that an order gets which the authority answers without bringing it forward: about an hour.</summary>
    private const int FruitlessMax = 3;

    /// <summary>Whatever the authority says of an order, or fails to say, another one is made in the end.</summary>
    private static readonly TimeSpan OrderAgeMax = TimeSpan.FromDays(7);

    /// <summary>Not valid before: the clocks of this machine and of the authority may differ.</summary>
    private static readonly TimeSpan AheadMax = TimeSpan.FromHours(1);

    private readonly HashSet<Uri> _pending = [];
    private readonly SortedSet<string> _proofs = new(StringComparer.Ordinal);
    private IReadOnlyList<string> _failedBefore = [];
    private PendingOrder? _stored;
    private bool _isContinued;

    /// <summary>The type of challenge whose validation failed; null if none did.</summary>
    public string? FailedChallenge { get; private set; }

    /// <summary>Whether a type of challenge is left for that host that has not failed: it is tried at once.</summary>
    public bool HasAnotherChallenge { get; private set; }

    /// <summary>How the names were proved, for the log.</summary>
    public string Proofs => _proofs.Count > 0 ? string.Join(", ", _proofs) : "earlier validations";

    /// <param name="account">Who orders.</param>
    /// <param name="state">What failed earlier.</param>
    /// <param name="current">The certificate in use; null for none.</param>
    /// <param name="cancel">Leaves the order for the next process.</param>
    /// <exception cref="AcmeException">The attempt failed.</exception>
    public async Task<StoredCertificate> RunAsync(
        AcmeAccount account, RenewalState state, StoredCertificate? current, CancellationToken cancel)
    {
        _failedBefore = state.FailedChallenges;
        bool isReplaced = state.Account == account.Url && names.Any(name => current?.Names.Contains(name) == true);
        try
        {
            (PendingOrder pending, AcmeOrder order) =
                await ContinueAsync(account, current, cancel) ?? await BeginAsync(account, isReplaced ? current : null, cancel);
            using CertificateKey key = CertificateKey.FromPem(pending.PrivateKey);
            return await CompleteAsync(account, order, key, state, cancel);
        }
        catch (AcmeException e) when (_stored is not null && !e.IsTransient())
        {
            await DiscardAsync(account, cancel);
            throw;
        }
        catch (OrderFailedException e)
        {
            await DiscardAsync(account, cancel);
            throw new AcmeException(e.Message, e) { OrderProblem = e.Problem };
        }
        catch (AcmeException e) when (_stored is not null && e.IsFruitless())
        {
            await CountAsync(_stored, account, cancel);
            throw;
        }
    }

    private async Task<StoredCertificate> CompleteAsync(
        AcmeAccount account, AcmeOrder order, CertificateKey key, RenewalState state, CancellationToken cancel)
    {
        if (order.Status == AcmeOrderStatus.Pending)
        {
            await AuthorizeAsync(account, order, state, cancel);
            order = await FollowAsync(account, order, null, AcmeOrderStatus.Pending, ValidationMax, cancel);
        }
        else
        {
            await RemoveLeftoversAsync(account, order, cancel);
        }

        if (order.Status == AcmeOrderStatus.Ready)
        {
            byte[] request = key.CreateSigningRequest(names);
            order = await context.Requests.RunAsync(client => client.FinalizeAsync(account, order, request, cancel), cancel);
        }

        order = await FollowAsync(account, order, order, AcmeOrderStatus.Processing, IssuanceMax, cancel);
        if (order.Status != AcmeOrderStatus.Valid)
        {
            throw new OrderFailedException(
                $"The authority ended the order {order.Url.AbsoluteUri} without a certificate: {AcmeProblems.Describe(order.Error)}.",
                order.Error);
        }

        IReadOnlyList<string> chains = await context.Requests.RunAsync(client => client.DownloadAsync(account, order, cancel), cancel);
        return Verify(CertificateChains.Choose(chains, context.Options.PreferredChain, names, context.Log), key);
    }

    /// <summary>The stored order, if it is one for these names that can still lead to another certificate than the current one.</summary>
    private async Task<(PendingOrder Pending, AcmeOrder Order)?> ContinueAsync(
        AcmeAccount account, StoredCertificate? current, CancellationToken cancel)
    {
        if (folder.ReadOrder() is not { Order: { } url } pending)
        {
            return null;
        }

        string? obstacle = Obstacle(pending, account, current);
        if (obstacle is null)
        {
            _stored = pending;
            try
            {
                AcmeOrder order = await context.Requests.RunAsync(client => client.GetOrderAsync(account, url, cancel), cancel);
                _isContinued = true;
                obstacle = order.Status == AcmeOrderStatus.Invalid ? $"it is invalid: {AcmeProblems.Describe(order.Error)}"
                    : order.Expires <= context.Clock.GetUtcNow() ? "it has expired"
                    : null;
                if (obstacle is null)
                {
                    context.Log.OrderContinued(string.Join(", ", names), url.AbsoluteUri);
                    return (pending, order);
                }

                await AbandonAsync(account, order, cancel);
            }
            catch (AcmeException e) when (!e.IsTransient())
            {
                obstacle = e.Message;
            }
        }

        context.Log.OrderDiscarded(string.Join(", ", names), url.AbsoluteUri, obstacle.TrimEnd('.'));
        await DiscardAsync(account, cancel);
        _stored = null;
        _isContinued = false;
        return null;
    }

    private string? Obstacle(PendingOrder pending, AcmeAccount account, StoredCertificate? current)
    {
        if (pending.Directory != context.Options.DirectoryUrl || pending.Account != account.Url)
        {
            return "it is of another account";
        }

        if (!pending.Names.ToHashSet(StringComparer.Ordinal).SetEquals(names))
        {
            return "the names have changed";
        }

        if ((context.Clock.GetUtcNow() - pending.Begun).Duration() > OrderAgeMax)
        {
            return "it is too old";
        }

        try
        {
            using CertificateKey key = CertificateKey.FromPem(pending.PrivateKey);
            return current?.HasKey(key) == true ? "its certificate is in use already" : null;
        }
        catch (CryptographicException e)
        {
            return e.Message;
        }
    }

    /// <summary>Finds what an order leaves behind: authorizations that are still pending, and DNS records.</summary>
    private async Task AbandonAsync(AcmeAccount account, AcmeOrder order, CancellationToken cancel)
    {
        foreach (Uri url in order.Authorizations)
        {
            AcmeAuthorization authorization = await GetAsync(account, url, cancel);
            if (authorization.Status == AcmeAuthorizationStatus.Pending)
            {
                _pending.Add(url);
            }

            await RemoveLeftoverAsync(account, authorization, cancel);
        }
    }

    private async Task<(PendingOrder Pending, AcmeOrder Order)> BeginAsync(
        AcmeAccount account, StoredCertificate? replaced, CancellationToken cancel)
    {
        using CertificateKey key = CertificateKey.Create(kind);
        var pending = new PendingOrder
        {
            Directory = context.Options.DirectoryUrl,
            Account = account.Url,
            Begun = context.Clock.GetUtcNow(),
            Names = names,
            PrivateKey = key.ExportPem(),
        };

        // A full disk is found out before the authority is asked.
        folder.WriteOrder(pending);
        IReadOnlyList<AcmeIdentifier> identifiers = [.. names.Select(AcmeIdentifier.Of)];
        AcmeOrder order = await context.Requests.RunAsync(
            client => client.CreateOrderAsync(account, identifiers, context.Options.Profile, replaced?.Leaf, cancel), cancel);
        pending = pending with { Order = order.Url };
        folder.WriteOrder(pending);
        _stored = pending;
        context.Log.OrderBegun(string.Join(", ", names), order.Url.AbsoluteUri);
        return (pending, order);
    }

    /// <summary>Opens all challenges, then says that they can be validated, then waits for all. Closes them, whatever happens.</summary>
    private async Task AuthorizeAsync(AcmeAccount account, AcmeOrder order, RenewalState state, CancellationToken cancel)
    {
        List<ChallengeResponder.OpenChallenge> open = [];
        try
        {
            foreach (Uri url in order.Authorizations)
            {
                AcmeAuthorization authorization = await GetAsync(account, url, cancel);
                if (authorization.Status == AcmeAuthorizationStatus.Pending)
                {
                    _pending.Add(url);
                    open.Add(await OpenAsync(account, authorization, state, cancel));
                }
                else
                {
                    await RemoveLeftoverAsync(account, authorization, cancel);
                    RequireValid(authorization);
                }
            }

            foreach (ChallengeResponder.OpenChallenge answer in open.Where(static answer => answer.Challenge.Status == "pending"))
            {
                await context.Requests.RunAsync(client => client.AcceptChallengeAsync(account, answer.Challenge, cancel), cancel);
            }

            foreach (ChallengeResponder.OpenChallenge answer in open)
            {
                await ValidateAsync(account, answer, cancel);
            }
        }
        finally
        {
            foreach (ChallengeResponder.OpenChallenge answer in open)
            {
                await answer.CloseAsync(cancel);
            }
        }
    }

    private async Task<ChallengeResponder.OpenChallenge> OpenAsync(
        AcmeAccount account, AcmeAuthorization authorization, RenewalState state, CancellationToken cancel)
    {
        AcmeChallenge? challenge = null;
        try
        {
            challenge = context.Responder.Choose(authorization, state.FailedChallenges);
            var keyAuthorization = new KeyAuthorization(challenge.Token, account.Key);
            return await context.Responder.OpenAsync(authorization, challenge, keyAuthorization, cancel);
        }
        catch (AcmeException e)
        {
            NoteFailure(authorization, challenge?.Type);
            throw new OrderFailedException(e.Message);
        }
    }

    private async Task ValidateAsync(AcmeAccount account, ChallengeResponder.OpenChallenge answer, CancellationToken cancel)
    {
        Uri url = answer.Authorization.Url;
        AcmeAuthorization authorization;
        string what = $"{answer.Authorization.Identifier} by {answer.Challenge.Type}";
        try
        {
            authorization = await context.Polling.UntilAsync(
                null,
                () => GetAsync(account, url, cancel),
                static current => current.Status != AcmeAuthorizationStatus.Pending,
                static current => current.RetryAfter,
                ValidationMax,
                $"The authority did not validate {what} within {ValidationMax.TotalMinutes} minutes.",
                cancel);
        }
        catch (PollingLimitException e)
        {
            NoteFailure(answer.Authorization, answer.Challenge.Type);
            throw new OrderFailedException(e.Message);
        }

        _pending.Remove(url);
        if (authorization.Status != AcmeAuthorizationStatus.Valid)
        {
            NoteFailure(answer.Authorization, answer.Challenge.Type);
            AcmeChallenge? failed = authorization.Challenges.FirstOrDefault(challenge => challenge.Url == answer.Challenge.Url);
            throw new OrderFailedException(
                $"The authority could not validate {what}: {AcmeProblems.Describe(failed?.Error)}.", failed?.Error);
        }

        _proofs.Add(answer.Challenge.Type);
    }

    private void NoteFailure(AcmeAuthorization authorization, string? type)
    {
        FailedChallenge = type;
        HasAnotherChallenge = type is not null && !_failedBefore.Contains(type)
            && context.Responder.HasAnother(authorization, [.. _failedBefore, type]);
    }

    private static void RequireValid(AcmeAuthorization authorization)
    {
        if (authorization.Status != AcmeAuthorizationStatus.Valid)
        {
            ProblemDocument? problem = authorization.Challenges.Select(static challenge => challenge.Error).FirstOrDefault(
                static error => error is not null);
            throw new OrderFailedException(
                $"The authorization for {authorization.Identifier} is {authorization.Status}: {AcmeProblems.Describe(problem)}.", problem);
        }
    }

    private Task<AcmeAuthorization> GetAsync(AcmeAccount account, Uri url, CancellationToken cancel) =>
        context.Requests.RunAsync(client => client.GetAuthorizationAsync(account, url, cancel), cancel);

    private async Task<AcmeOrder> FollowAsync(
        AcmeAccount account, AcmeOrder order, AcmeOrder? first, AcmeOrderStatus passing, TimeSpan limit, CancellationToken cancel)
    {
        try
        {
            return await context.Polling.UntilAsync(
                first,
                () => context.Requests.RunAsync(client => client.GetOrderAsync(account, order.Url, cancel), cancel),
                current => current.Status != passing,
                static current => current.RetryAfter,
                limit,
                $"The order {order.Url.AbsoluteUri} is still {passing} after {limit.TotalMinutes} minutes.",
                cancel);
        }
        catch (PollingLimitException e)
        {
            // It may still lead to a certificate: the next attempts continue it.
            throw new AcmeException(e.Message, e) { RetryAfter = e.RetryAfter };
        }
    }

    /// <summary>An earlier process may have created DNS records for authorizations that are valid by now.</summary>
    private async Task RemoveLeftoversAsync(AcmeAccount account, AcmeOrder order, CancellationToken cancel)
    {
        if (_isContinued && context.Options.DnsHook is not null)
        {
            foreach (Uri url in order.Authorizations)
            {
                await RemoveLeftoverAsync(account, await GetAsync(account, url, cancel), cancel);
            }
        }
    }

    private Task RemoveLeftoverAsync(AcmeAccount account, AcmeAuthorization authorization, CancellationToken cancel) => _isContinued
        ? context.Responder.RemoveLeftoverAsync(
            authorization, challenge => new KeyAuthorization(challenge.Token, account.Key), cancel)
        : Task.CompletedTask;

    /// <summary>An order that the authority only ever fails on is given up, without having the next attempt sooner.</summary>
    private async Task CountAsync(PendingOrder order, AcmeAccount account, CancellationToken cancel)
    {
        int fruitless = order.Fruitless + 1;
        if (fruitless < FruitlessMax)
        {
            folder.WriteOrder(order with { Fruitless = fruitless });
            return;
        }

        context.Log.OrderDiscarded(string.Join(", ", names), order.Order!.AbsoluteUri, $"{fruitless} attempts led nowhere");
        await DiscardAsync(account, cancel);
    }

    /// <summary>Forgets the order, and gives up what is still to be validated: authorities limit how many of those there are.</summary>
    private async Task DiscardAsync(AcmeAccount account, CancellationToken cancel)
    {
        folder.DeleteOrder();
        foreach (Uri url in _pending)
        {
            try
            {
                await context.Requests.RunAsync(client => client.DeactivateAuthorizationAsync(account, url, cancel), cancel);
            }
            catch (AcmeException e)
            {
                context.Log.DeactivationFailed(url.AbsoluteUri, e.Message);
            }
        }

        _pending.Clear();
    }

    /// <summary>What a browser would refuse is refused here, so that it never replaces what works.</summary>
    private StoredCertificate Verify(string chain, CertificateKey key)
    {
        StoredCertificate certificate;
        try
        {
            certificate = StoredCertificate.Parse($"{chain.TrimEnd()}\n{key.ExportPem()}\n");
        }
        catch (Exception e) when (e is CryptographicException or ArgumentException)
        {
            throw new OrderFailedException($"The authority sent a certificate that cannot be used: {e.Message}.");
        }

        DateTimeOffset now = context.Clock.GetUtcNow();
        string[] missing = [.. names.Where(name => !certificate.Names.Contains(name))];
        string? fault = missing.Length > 0 ? $"is not for {string.Join(", ", missing)}"
            : certificate.NotAfter <= now ? $"expired on {certificate.NotAfter:yyyy-MM-dd HH:mm}Z"
            : certificate.NotBefore > now + AheadMax ? $"is not valid before {certificate.NotBefore:yyyy-MM-dd HH:mm}Z"
            : null;
        return fault is null
            ? certificate
            : throw new OrderFailedException(
                $"The authority sent a certificate that {fault}. Check the clock of this machine, which shows {now:yyyy-MM-dd HH:mm}Z.");
    }

    /// <summary>The order cannot lead to a certificate any more; another one may.</summary>
    private sealed class OrderFailedException(string message, ProblemDocument? problem = null) : Exception(message)
    {
        public ProblemDocument? Problem => problem;
    }
}
