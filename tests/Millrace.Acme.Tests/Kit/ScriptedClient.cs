using System.Security.Cryptography;
using Microsoft.Extensions.Time.Testing;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Tests.Kit;

/// <summary>A client, its authority, which a test scripts, and its clock, which a test moves.</summary>
internal sealed class ScriptedClient : IAsyncDisposable
{
    /// <summary>An order in the state that a new one has.</summary>
    public const string Order =
        """
        {
          "status": "pending",
          "expires": "2030-01-05T14:09:07.123456789Z",
          "identifiers": [{ "type": "dns", "value": "example.org" }],
          "authorizations": ["ORIGIN/authz/1"],
          "finalize": "ORIGIN/finalize/1"
        }
        """;

    /// <summary>An authorization that nothing was done for.</summary>
    public const string Authorization =
        """
        {
          "status": "pending",
          "identifier": { "type": "dns", "value": "example.org" },
          "wildcard": true,
          "challenges": [
            { "type": "http-01", "url": "ORIGIN/challenge/1", "status": "pending", "token": "DGyRejmCefe7v4NfDGDKfA" },
            { "type": "other-01", "url": "ORIGIN/challenge/2", "status": "invalid",
              "error": { "type": "urn:ietf:params:acme:error:dns", "detail": "No such host." } }
          ]
        }
        """;

    private readonly ECDsa _key = ECDsa.Create(ECCurve.NamedCurves.nistP256);

    private ScriptedClient(ScriptedAuthority authority)
    {
        Authority = authority;
        Authority.Key = _key;
        Client = new AcmeClient(authority.Directory, roots: null, Clock, Log);
        Account = new AcmeAccount(_key, authority.UrlOf("/account/1"));
    }

    public ScriptedAuthority Authority { get; }

    public AcmeClient Client { get; }

    /// <summary>The client's.</summary>
    public LogLines Log { get; } = new();

    public AcmeAccount Account { get; }

    public FakeTimeProvider Clock { get; } = new(new DateTimeOffset(2030, 1, 1, 0, 0, 0, TimeSpan.Zero));

    public static async Task<ScriptedClient> StartAsync() => new(await ScriptedAuthority.StartAsync());

    public Task<AcmeOrder> OrderAsync(string? profile = null) =>
        Client.CreateOrderAsync(Account, [AcmeIdentifier.Of("example.org")], profile, replaces: null, CancellationToken.None);

    public Task<AcmeAuthorization> AuthorizationAsync() =>
        Client.GetAuthorizationAsync(Account, Authority.UrlOf("/authz/1"), CancellationToken.None);

    public Task<IReadOnlyList<string>> DownloadAsync() => Client.DownloadAsync(
        Account,
        new AcmeOrder
        {
            Url = Authority.UrlOf("/order/1"),
            Status = AcmeOrderStatus.Valid,
            Identifiers = [],
            Authorizations = [],
            Finalize = Authority.UrlOf("/finalize/1"),
            Certificate = Authority.UrlOf("/certificate/1"),
        },
        CancellationToken.None);

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await Authority.DisposeAsync();
        _key.Dispose();
    }
}
