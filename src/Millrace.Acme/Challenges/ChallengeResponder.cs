using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Challenges;

/// <summary>
/// Chooses a challenge of an authorization and makes its answer available until it is closed: in the table, or as a TXT record by the hook.
/// Any thread.
/// </summary>
/// <param name="answered">What the table's readers answer.</param>
/// <param name="table">Where answers are put.</param>
/// <param name="hook">For DNS-01; null for none.</param>
/// <param name="clock">For the validity of certificates.</param>
/// <param name="log">Names what could not be removed.</param>
internal sealed class ChallengeResponder(
    AcmeChallengeTypes answered, ChallengeTable table, DnsHook? hook, TimeProvider clock, AcmeLog log)
{
    public const string Http01 = "http-01";
    public const string TlsAlpn01 = "tls-alpn-01";
    public const string Dns01 = "dns-01";

    /// <summary>From the cheapest: TLS-ALPN-01 needs no second port, DNS-01 another program.</summary>
    private static readonly string[] Preference = [TlsAlpn01, Http01, Dns01];

    /// <summary>Whether a challenge can be answered whose type is not among those that failed.</summary>
    public bool HasAnother(AcmeAuthorization authorization, IEnumerable<string> failed) => authorization.Challenges.Any(challenge =>
        challenge.Token.Length > 0 && Answers(challenge.Type, authorization.IsWildcard) && !failed.Contains(challenge.Type));

    /// <param name="authorization">One that is pending.</param>
    /// <param name="failed">The types that failed before, the latest last: they come after those that did not.</param>
    /// <exception cref="AcmeException">The authority offers none that this server answers.</exception>
    public AcmeChallenge Choose(AcmeAuthorization authorization, IReadOnlyList<string> failed)
    {
        List<string> failures = [.. failed];
        AcmeChallenge? chosen = authorization.Challenges
            .Where(challenge => challenge.Token.Length > 0 && Answers(challenge.Type, authorization.IsWildcard))
            .OrderBy(challenge => failures.LastIndexOf(challenge.Type))
            .ThenBy(challenge => Array.IndexOf(Preference, challenge.Type))
            .FirstOrDefault();
        string offered = string.Join(", ", authorization.Challenges.Select(static challenge => challenge.Type));
        return chosen ?? throw new AcmeException(
            $"{authorization.Identifier} cannot be proved: the authority offers {offered}, and this server answers none of them here.");
    }

    /// <summary>Makes the answer available. The result is closed by <see cref="OpenChallenge.CloseAsync"/>, whatever happens.</summary>
    public async Task<OpenChallenge> OpenAsync(
        AcmeAuthorization authorization, AcmeChallenge challenge, KeyAuthorization keyAuthorization, CancellationToken cancel)
    {
        var open = new OpenChallenge(this, authorization, challenge, keyAuthorization);
        switch (challenge.Type)
        {
            case Http01:
                table.AddHttp(challenge.Token, keyAuthorization.Text);
                break;
            case TlsAlpn01:
                X509Certificate2 certificate =
                    ChallengeAnswers.TlsAlpnCertificate(authorization.Identifier, keyAuthorization, clock.GetUtcNow());
                table.AddTlsAlpn(ChallengeAnswers.ServerName(authorization.Identifier), certificate);
                break;
            default:
                try
                {
                    await hook!.RunAsync("present", authorization.Identifier.Value, keyAuthorization.DnsValue, cancel);
                }
                catch (AcmeException)
                {
                    // It may have created the record all the same.
                    await open.CloseAsync(cancel);
                    throw;
                }

                break;
        }

        return open;
    }

    /// <summary>Removes the record of a challenge that an earlier process may have created, if it is one of DNS-01.</summary>
    public Task RemoveLeftoverAsync(
        AcmeAuthorization authorization, Func<AcmeChallenge, KeyAuthorization> keyAuthorization, CancellationToken cancel)
    {
        AcmeChallenge? challenge = hook is null
            ? null
            : authorization.Challenges.FirstOrDefault(static challenge => challenge.Type == Dns01 && challenge.Token.Length > 0);
        return challenge is null
            ? Task.CompletedTask
            : new OpenChallenge(this, authorization, challenge, keyAuthorization(challenge)).CloseAsync(cancel);
    }

    private bool Answers(string type, bool isWildcard) => type switch
    {
        Http01 => !isWildcard && answered.HasFlag(AcmeChallengeTypes.Http01),
        TlsAlpn01 => !isWildcard && answered.HasFlag(AcmeChallengeTypes.TlsAlpn01),
        Dns01 => hook is not null,
        _ => false,
    };

    private async Task CloseAsync(OpenChallenge open, CancellationToken cancel)
    {
        switch (open.Challenge.Type)
        {
            case Http01:
                table.RemoveHttp(open.Challenge.Token);
                break;
            case TlsAlpn01:
                table.RemoveTlsAlpn(ChallengeAnswers.ServerName(open.Authorization.Identifier));
                break;

            // A server that ends does not wait for programs. The next one continues the order, and removes the record.
            case Dns01 when !cancel.IsCancellationRequested:
                string host = open.Authorization.Identifier.Value;
                try
                {
                    await hook!.RunAsync("cleanup", host, open.KeyAuthorization.DnsValue, cancel);
                }
                catch (AcmeException e)
                {
                    log.CleanupFailed(DnsHook.RecordName(host), e.Message);
                }
                catch (OperationCanceledException)
                {
                    // As above.
                }

                break;
        }
    }

    /// <summary>A challenge whose answer is available. One thread at a time.</summary>
    internal sealed class OpenChallenge(
        ChallengeResponder owner, AcmeAuthorization authorization, AcmeChallenge challenge, KeyAuthorization keyAuthorization)
    {
        public AcmeAuthorization Authorization => authorization;

        public AcmeChallenge Challenge => challenge;

        public KeyAuthorization KeyAuthorization => keyAuthorization;

        /// <summary>Removes the answer. Never throws.</summary>
        public Task CloseAsync(CancellationToken cancel) => owner.CloseAsync(this, cancel);
    }
}
