using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Protocol;
using Millrace.Acme.Tests.Kit;

namespace Millrace.Acme.Tests.Protocol;

/// <summary>The client with a server that others have made.</summary>
public sealed class PebbleTests
{
    [Theory]
    [InlineData("http-01")]
    [InlineData("tls-alpn-01")]
    [InlineData("dns-01")]
    public async Task A_certificate_of_several_names_is_issued(string challenge)
    {
        await using PebbleClient test = await PebbleClient.StartAsync(new PebbleOptions { RejectedNonces = 5 });
        string[] names = challenge == "dns-01"
            ? ["one.example", "*.one.example", "two.example"]
            : ["one.example", "www.one.example", "127.0.0.1"];
        AcmeAccount account = await test.CreateAccountAsync();
        IReadOnlyList<string> chains = await test.IssueAsync(account, names, challenge);
        using X509Certificate2 leaf = X509Certificate2.CreateFromPem(Assert.Single(chains));
        X509SubjectAlternativeNameExtension covered = leaf.Extensions.OfType<X509SubjectAlternativeNameExtension>().Single();
        IEnumerable<string> addresses = covered.EnumerateIPAddresses().Select(static address => address.ToString());
        Assert.Equal(names.Order(), covered.EnumerateDnsNames().Concat(addresses).Order());
        Assert.True(await test.IsTrustedAsync(chains[0], root: 0));
    }

    [Fact]
    public async Task Every_alternate_chain_ends_at_its_own_root()
    {
        await using PebbleClient test = await PebbleClient.StartAsync(
            new PebbleOptions { AlwaysValid = true, AlternateRoots = 2, ChainLength = 3 });
        IReadOnlyList<string> chains = await test.IssueAsync(await test.CreateAccountAsync(), ["alternates.example"]);
        Assert.Equal(3, chains.Count);
        for (int root = 0; root < 3; root++)
        {
            Assert.Equal(
                [root == 0, root == 1, root == 2],
                [await test.IsTrustedAsync(chains[0], root), await test.IsTrustedAsync(chains[1], root), await test.IsTrustedAsync(chains[2], root)]);
        }
    }

    /// <summary>A request fails for good once in 64 times: then it is asked again, as every caller does.</summary>
    [Fact]
    public async Task Half_of_all_nonces_may_be_refused()
    {
        await using PebbleClient test = await PebbleClient.StartAsync(new PebbleOptions { AlwaysValid = true, RejectedNonces = 50 });
        AcmeAccount account = await PatientlyAsync(test.CreateAccountAsync);
        for (int i = 0; i < 10; i++)
        {
            AcmeOrder order = await PatientlyAsync(() => test.OrderAsync(account, $"host{i}.example"));
            order = await PatientlyAsync(() => test.Client.GetOrderAsync(account, order.Url, CancellationToken.None));
            Assert.Equal(AcmeOrderStatus.Pending, order.Status);
        }

        Assert.Contains(test.Log.Lines, static line => line.Contains(": 400 after", StringComparison.Ordinal));
    }

    [Fact]
    public async Task An_account_is_found_by_its_key()
    {
        await using PebbleClient test = await PebbleClient.StartAsync();
        AcmeAccount account = await test.CreateAccountAsync();
        Assert.Equal(account.Url, (await test.CreateAccountAsync()).Url);
        using ECDsa other = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        AcmeAccount second = await test.Client.CreateAccountAsync(other, "you@example.org", external: null, CancellationToken.None);
        Assert.NotEqual(account.Url, second.Url);

        // Another's order is not shown.
        AcmeOrder order = await test.OrderAsync(account, "mine.example");
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.Client.GetOrderAsync(second, order.Url, CancellationToken.None));
        Assert.Equal("unauthorized", e.Problem!.Name);
    }

    [Fact]
    public async Task An_external_account_is_needed_and_is_checked()
    {
        const string Key = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
        await using PebbleClient test = await PebbleClient.StartAsync(
            new PebbleOptions { ExternalAccounts = new Dictionary<string, string> { ["kid-1"] = Key } });
        await Assert.ThrowsAsync<AcmeException>(test.CreateAccountAsync);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => test.Client.CreateAccountAsync(test.Key, email: null, new ExternalAccount("kid-1", "AAAA"), CancellationToken.None));
        Assert.StartsWith($"The authority {test.Pebble.Directory.Authority} refuses the account: unauthorized: ", e.Message, StringComparison.Ordinal);
        await test.Client.CreateAccountAsync(test.Key, email: null, new ExternalAccount("kid-1", Key), CancellationToken.None);
    }

    [Fact]
    public async Task An_identifier_that_is_blocked_is_refused_in_the_authoritys_words()
    {
        await using PebbleClient test = await PebbleClient.StartAsync(new PebbleOptions { Blocked = ["blocked.example"] });
        AcmeAccount account = await test.CreateAccountAsync();
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync(account, "good.example", "blocked.example"));
        Assert.Equal("rejectedIdentifier", e.Problem!.Name);
        Assert.Matches("^The authority localhost:[0-9]+ refuses the order: rejectedIdentifier: .*blocked.example.* \\(HTTP 400\\)$", e.Message);
    }

    [Fact]
    public async Task A_validation_that_fails_says_why()
    {
        await using PebbleClient test = await PebbleClient.StartAsync();
        AcmeAccount account = await test.CreateAccountAsync();
        AcmeOrder order = await test.OrderAsync(account, "wrong.example");
        AcmeAuthorization authorization = await test.Client.GetAuthorizationAsync(account, order.Authorizations[0], CancellationToken.None);
        Assert.Equal(AcmeIdentifier.Of("wrong.example"), authorization.Identifier);

        // Nobody answers it.
        AcmeChallenge challenge = authorization.Challenges.Single(static challenge => challenge.Type == "http-01");
        await test.Client.AcceptChallengeAsync(account, challenge, CancellationToken.None);
        authorization = await test.ValidatedAsync(account, authorization.Url);
        Assert.Equal(AcmeAuthorizationStatus.Invalid, authorization.Status);
        ProblemDocument problem = authorization.Challenges.Single(static challenge => challenge.Type == "http-01").Error!;
        Assert.Equal("unauthorized", problem.Name);
        Assert.Contains("wrong.example", problem.ToString(), StringComparison.Ordinal);
        Assert.Equal(AcmeOrderStatus.Invalid, (await test.Client.GetOrderAsync(account, order.Url, CancellationToken.None)).Status);
    }

    [Fact]
    public async Task An_authorization_is_deactivated()
    {
        await using PebbleClient test = await PebbleClient.StartAsync();
        AcmeAccount account = await test.CreateAccountAsync();
        AcmeOrder order = await test.OrderAsync(account, "given-up.example");
        await test.Client.DeactivateAuthorizationAsync(account, order.Authorizations[0], CancellationToken.None);
        AcmeAuthorization authorization = await test.Client.GetAuthorizationAsync(account, order.Authorizations[0], CancellationToken.None);
        Assert.Equal(AcmeAuthorizationStatus.Deactivated, authorization.Status);
    }

    [Fact]
    public async Task A_valid_authorization_is_used_again()
    {
        await using PebbleClient test = await PebbleClient.StartAsync(new PebbleOptions { AlwaysValid = true, ReusedAuthorizations = 100 });
        AcmeAccount account = await test.CreateAccountAsync();
        await test.IssueAsync(account, ["again.example"]);
        Assert.Equal(AcmeOrderStatus.Ready, (await test.OrderAsync(account, "again.example")).Status);
    }

    [Fact]
    public async Task A_certificate_is_revoked_once()
    {
        await using PebbleClient test = await PebbleClient.StartAsync(new PebbleOptions { AlwaysValid = true });
        AcmeAccount account = await test.CreateAccountAsync();
        using X509Certificate2 certificate = X509Certificate2.CreateFromPem((await test.IssueAsync(account, ["revoked.example"]))[0]);
        Assert.Equal("Valid", await test.Pebble.StatusAsync(certificate));
        await test.Client.RevokeAsync(account, certificate, CancellationToken.None);
        Assert.Equal("Revoked", await test.Pebble.StatusAsync(certificate));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.Client.RevokeAsync(account, certificate, CancellationToken.None));
        Assert.Equal("alreadyRevoked", e.Problem!.Name);
    }

    [Fact]
    public async Task A_signing_request_for_other_names_is_refused()
    {
        await using PebbleClient test = await PebbleClient.StartAsync(new PebbleOptions { AlwaysValid = true });
        AcmeAccount account = await test.CreateAccountAsync();
        AcmeOrder order = await test.ReadyAsync(account, await test.OrderAsync(account, "right.example"), "http-01");
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => test.Client.FinalizeAsync(account, order, PebbleClient.SigningRequest("other.example"), CancellationToken.None));
        Assert.StartsWith($"The authority {test.Pebble.Directory.Authority} refuses the signing request: ", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_authority_that_nobody_vouches_for_is_not_talked_to()
    {
        await using PebbleClient test = await PebbleClient.StartAsync();
        using var client = new AcmeClient(test.Pebble.Directory, roots: null, TimeProvider.System, NullLogger.Instance);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => client.CreateAccountAsync(test.Key, email: null, external: null, CancellationToken.None));
        Assert.Contains("does not answer the request for the directory: The remote certificate is invalid", e.Message, StringComparison.Ordinal);
        Assert.Contains("have to be configured", e.Message, StringComparison.Ordinal);

        // Another root is not this one, and a certificate is for a host.
        using X509Certificate2 other = TestCertificates.SelfSigned("localhost");
        using var wrong = new AcmeClient(test.Pebble.Directory, [other], TimeProvider.System, NullLogger.Instance);
        await Assert.ThrowsAsync<AcmeException>(() => wrong.CreateAccountAsync(test.Key, email: null, external: null, CancellationToken.None));
    }

    [Fact]
    public async Task The_options_name_the_roots_in_a_file()
    {
        await using PebbleClient test = await PebbleClient.StartAsync();
        var options = new AcmeOptions { Certificates = [], Directory = "/", DirectoryUrl = test.Pebble.Directory, RootsFile = test.Pebble.RootsFile };
        using (AcmeClient client = AcmeClient.Create(options, TimeProvider.System, NullLogger.Instance))
        {
            await client.CreateAccountAsync(test.Key, email: null, external: null, CancellationToken.None);
        }

        string empty = Path.GetTempFileName();
        AcmeOptions[] wrong =
        [
            options with { RootsFile = "/nowhere.pem" },
            options with { RootsFile = empty },
            options with { DirectoryUrl = new Uri("http://ca.example/dir") },
        ];
        Assert.All(wrong, static options => Assert.Throws<AcmeConfigurationException>(
            () => AcmeClient.Create(options, TimeProvider.System, NullLogger.Instance)));
        File.Delete(empty);
    }

    private static async Task<T> PatientlyAsync<T>(Func<Task<T>> request)
    {
        for (int failures = 0; ; failures++)
        {
            try
            {
                return await request();
            }
            catch (AcmeException e) when (e.Problem?.Name == "badNonce" && failures < 3)
            {
                // Unlucky.
            }
        }
    }
}
