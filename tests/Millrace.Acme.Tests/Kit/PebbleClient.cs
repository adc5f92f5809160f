using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Tests.Kit;

/// <summary>A client, a <see cref="Kit.Pebble"/> of its own and what answers its challenges. Skips the test where it is not installed.</summary>
internal sealed class PebbleClient : IAsyncDisposable
{
    private const int PollsMax = 500;

    private readonly ChallengeResponder _responder;

    private PebbleClient(Pebble pebble, ChallengeResponder responder)
    {
        Pebble = pebble;
        _responder = responder;
        Client = new AcmeClient(pebble.Directory, pebble.Roots, TimeProvider.System, Log);
    }

    public Pebble Pebble { get; }

    public AcmeClient Client { get; }

    /// <summary>The client's.</summary>
    public LogLines Log { get; } = new();

    public ECDsa Key { get; } = ECDsa.Create(ECCurve.NamedCurves.nistP256);

    public static async Task<PebbleClient> StartAsync(PebbleOptions? options = null)
    {
        Assert.SkipUnless(Pebble.IsInstalled, "pebble is not installed.");
        Pebble pebble = await Pebble.StartAsync(options);
        return new PebbleClient(pebble, await ChallengeResponder.StartAsync(pebble.HttpPort, pebble.TlsPort));
    }

    public Task<AcmeAccount> CreateAccountAsync() => Client.CreateAccountAsync(Key, email: null, external: null, CancellationToken.None);

    public Task<AcmeOrder> OrderAsync(AcmeAccount account, params string[] names) =>
        Client.CreateOrderAsync(account, [.. names.Select(AcmeIdentifier.Of)], profile: null, replaces: null, CancellationToken.None);

    /// <summary>All chains of a new certificate.</summary>
    public async Task<IReadOnlyList<string>> IssueAsync(AcmeAccount account, string[] names, string challenge = "http-01")
    {
        AcmeOrder order = await ReadyAsync(account, await OrderAsync(account, names), challenge);
        order = await Client.FinalizeAsync(account, order, SigningRequest(names), CancellationToken.None);
        for (int polls = 0; order.Status == AcmeOrderStatus.Processing; polls++)
        {
            await PauseAsync(polls);
            order = await Client.GetOrderAsync(account, order.Url, CancellationToken.None);
        }

        Assert.Equal(AcmeOrderStatus.Valid, order.Status);
        return await Client.DownloadAsync(account, order, CancellationToken.None);
    }

    /// <summary>The order, once all of its challenges of this type have been answered.</summary>
    public async Task<AcmeOrder> ReadyAsync(AcmeAccount account, AcmeOrder order, string type)
    {
        foreach (Uri url in order.Authorizations)
        {
            AcmeAuthorization authorization = await Client.GetAuthorizationAsync(account, url, CancellationToken.None);
            if (authorization.Status == AcmeAuthorizationStatus.Pending)
            {
                AcmeChallenge challenge = authorization.Challenges.Single(challenge => challenge.Type == type);
                await AnswerAsync(authorization.Identifier, challenge);
                await Client.AcceptChallengeAsync(account, challenge, CancellationToken.None);
                authorization = await ValidatedAsync(account, url);
                string challenges = string.Join(", ", authorization.Challenges);
                Assert.True(authorization.Status == AcmeAuthorizationStatus.Valid, $"{authorization}: {challenges}");
            }
        }

        order = await Client.GetOrderAsync(account, order.Url, CancellationToken.None);
        Assert.Equal(AcmeOrderStatus.Ready, order.Status);
        return order;
    }

    /// <summary>The authorization, once it is not pending.</summary>
    public async Task<AcmeAuthorization> ValidatedAsync(AcmeAccount account, Uri url)
    {
        for (int polls = 0; ; polls++)
        {
            AcmeAuthorization authorization = await Client.GetAuthorizationAsync(account, url, CancellationToken.None);
            if (authorization.Status != AcmeAuthorizationStatus.Pending)
            {
                return authorization;
            }

            await PauseAsync(polls);
        }
    }

    /// <summary>Whether a chain leads to this root of pebble's, and to no other.</summary>
    public async Task<bool> IsTrustedAsync(string pem, int root)
    {
        var certificates = new X509Certificate2Collection();
        certificates.ImportFromPem(pem);
        using var chain = new X509Chain();
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.DisableCertificateDownloads = true;
        chain.ChainPolicy.CustomTrustStore.Add(await Pebble.RootAsync(root));
        chain.ChainPolicy.ExtraStore.AddRange(certificates);
        return chain.Build(certificates[0]);
    }

    public static byte[] SigningRequest(params string[] names)
    {
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest(new X500DistinguishedName(""), key, HashAlgorithmName.SHA256);
        var alternatives = new SubjectAlternativeNameBuilder();
        foreach (string name in names)
        {
            if (IPAddress.TryParse(name, out IPAddress? address))
            {
                alternatives.AddIpAddress(address);
            }
            else
            {
                alternatives.AddDnsName(name);
            }
        }

        request.CertificateExtensions.Add(alternatives.Build());
        return request.CreateSigningRequest();
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _responder.DisposeAsync();
        await Pebble.DisposeAsync();
        Key.Dispose();
    }

    private async Task AnswerAsync(AcmeIdentifier identifier, AcmeChallenge challenge)
    {
        var authorization = new KeyAuthorization(challenge.Token, Key);
        switch (challenge.Type)
        {
            case "http-01":
                _responder.AddHttp(challenge.Token, authorization);
                break;
            case "tls-alpn-01":
                string name = identifier.Type == "ip"
                    ? string.Join('.', identifier.Value.Split('.').Reverse()) + ".in-addr.arpa"
                    : identifier.Value;
                _responder.AddTls(name, identifier, authorization);
                break;
            default:
                await Pebble.SetTxtAsync($"_acme-challenge.{identifier.Value}", authorization.DnsValue);
                break;
        }
    }

    private static Task PauseAsync(int polls)
    {
        Assert.True(polls < PollsMax, "Pebble does not finish.");

        // Sleeps: pebble validates in its own time.
        return Task.Delay(TimeSpan.FromMilliseconds(20));
    }
}
