using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.Json.Nodes;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Acme.Protocol;
using Millrace.Acme.Tests.Kit;

namespace Millrace.Acme.Tests.Protocol;

/// <summary>What the client asks an authority for, and how.</summary>
public sealed class RequestTests
{
    private static readonly (string, string) Location = ("Location", "ORIGIN/order/1");

    [Fact]
    public async Task Nonces_are_taken_from_answers_and_used_once()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 201, ScriptedClient.Order, Location);
        for (int i = 0; i < 3; i++)
        {
            await test.OrderAsync();
        }

        Assert.Empty(test.Authority.Faults);
        Assert.Equal(["GET /dir", "HEAD /nonce", "POST /new-order", "POST /new-order", "POST /new-order"], Lines(test));
    }

    [Fact]
    public async Task Requests_at_the_same_time_share_no_nonce()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/authz/1", 200, ScriptedClient.Authorization);
        for (int i = 0; i < 3; i++)
        {
            await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => Task.Run(test.AuthorizationAsync)));
        }

        Assert.Empty(test.Authority.Faults);
        Assert.Equal(60, test.Authority.CountOf("/authz/1"));
    }

    [Fact]
    public async Task An_old_nonce_is_not_used()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/authz/1", 200, ScriptedClient.Authorization);
        await test.AuthorizationAsync();
        test.Clock.Advance(TimeSpan.FromMinutes(6));
        await test.AuthorizationAsync();
        Assert.Equal(2, test.Authority.CountOf("/nonce"));
    }

    [Fact]
    public async Task A_refused_nonce_is_replaced_by_the_one_that_comes_with_the_refusal()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        int refusals = 5;
        test.Authority.On("/new-order", context =>
        {
            if (refusals-- > 0)
            {
                return ScriptedAuthority.AnswerBadNonceAsync(context);
            }

            context.Response.Headers.Location = test.Authority.Origin + "/order/1";
            return ScriptedAuthority.AnswerJsonAsync(
                context, 201, ScriptedClient.Order.Replace("ORIGIN", test.Authority.Origin, StringComparison.Ordinal));
        });
        AcmeOrder order = await test.OrderAsync();
        Assert.Equal(test.Authority.UrlOf("/order/1"), order.Url);
        Assert.Empty(test.Authority.Faults);
        Assert.Equal(6, test.Authority.CountOf("/new-order"));
        Assert.Equal(1, test.Authority.CountOf("/nonce"));
    }

    [Fact]
    public async Task A_refusal_without_a_nonce_makes_the_client_ask_for_one()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        bool refused = false;
        test.Authority.On("/authz/1", context =>
        {
            if (refused)
            {
                return ScriptedAuthority.AnswerJsonAsync(
                    context, 200, ScriptedClient.Authorization.Replace("ORIGIN", test.Authority.Origin, StringComparison.Ordinal));
            }

            refused = true;
            context.Response.Headers["Replay-Nonce"] = "not base64!";
            return ScriptedAuthority.AnswerBadNonceAsync(context);
        });
        await test.AuthorizationAsync();
        Assert.Empty(test.Authority.Faults);
        Assert.Equal(2, test.Authority.CountOf("/nonce"));
    }

    [Fact]
    public async Task Where_one_nonce_is_forgotten_the_others_are_not_tried()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        string authorization = ScriptedClient.Authorization.Replace("ORIGIN", test.Authority.Origin, StringComparison.Ordinal);
        int forgotten = 0;
        var gate = new TaskCompletionSource();
        int waiting = 0;
        test.Authority.On("/authz/1", async context =>
        {
            if (NumberOf((string)ScriptedRequest.Of(context).Header!["nonce"]!) <= forgotten)
            {
                await ScriptedAuthority.AnswerBadNonceAsync(context);
                return;
            }

            if (Interlocked.Increment(ref waiting) == 6)
            {
                gate.SetResult();
            }

            await gate.Task.WaitAsync(TimeSpan.FromSeconds(30));
            await ScriptedAuthority.AnswerJsonAsync(context, 200, authorization);
        });
        await TogetherAsync();

        // Six nonces are kept. Now the authority restarts: one is refused, and then no other is.
        forgotten = NumberOf(test.Authority.NewNonce());
        await test.AuthorizationAsync();
        (gate, waiting) = (new TaskCompletionSource(), 0);
        await TogetherAsync();
        Assert.Empty(test.Authority.Faults);
        Assert.Equal(6 + 2 + 6, test.Authority.CountOf("/authz/1"));

        Task TogetherAsync() => Task.WhenAll(Enumerable.Range(0, 6).Select(_ => test.AuthorizationAsync()));

        static int NumberOf(string nonce) => int.Parse(nonce.Split('-')[1]);
    }

    [Fact]
    public async Task An_authority_that_refuses_every_nonce_is_given_up()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", ScriptedAuthority.AnswerBadNonceAsync);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Equal("badNonce", e.Problem!.Name);
        Assert.Equal(6, test.Authority.CountOf("/new-order"));
    }

    [Fact]
    public async Task An_account_is_created_with_its_key_and_the_terms()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-account", 201, """{"status":"valid"}""", ("Location", "ORIGIN/account/7"));
        AcmeAccount account = await test.Client.CreateAccountAsync(test.Account.Key, "you@example.org", external: null, CancellationToken.None);
        Assert.Equal(test.Authority.UrlOf("/account/7"), account.Url);
        ScriptedRequest request = test.Authority.Requests.Last();
        Assert.Equal("""{"termsOfServiceAgreed":true,"contact":["mailto:you@example.org"]}""", request.Payload);
        Assert.NotNull(request.Header!["jwk"]);
        Assert.StartsWith("Millrace-Acme/", request.UserAgent, StringComparison.Ordinal);
        Assert.Empty(test.Authority.Faults);
    }

    [Fact]
    public async Task An_account_that_is_not_valid_any_more_is_an_error()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-account", 200, """{"status":"deactivated"}""", ("Location", "ORIGIN/account/7"));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => test.Client.CreateAccountAsync(test.Account.Key, email: null, external: null, CancellationToken.None));
        Assert.Equal($"The account with the authority {test.Authority.Directory.Authority} is deactivated.", e.Message);
    }

    [Fact]
    public async Task An_external_account_is_bound_to_the_key()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.DirectoryObject["meta"] = new JsonObject { ["externalAccountRequired"] = true };
        test.Authority.On("/new-account", 201, """{"status":"valid"}""", ("Location", "ORIGIN/account/7"));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => test.Client.CreateAccountAsync(test.Account.Key, email: null, external: null, CancellationToken.None));
        Assert.Contains("configure its key id and its HMAC key", e.Message, StringComparison.Ordinal);
        e = await Assert.ThrowsAsync<AcmeException>(
            () => test.Client.CreateAccountAsync(test.Account.Key, email: null, new ExternalAccount("kid", "not base64!"), CancellationToken.None));
        Assert.Contains("HMAC key of the external account is not Base64Url", e.Message, StringComparison.Ordinal);
        Assert.Equal(0, test.Authority.CountOf("/new-account"));

        await test.Client.CreateAccountAsync(test.Account.Key, email: null, new ExternalAccount("kid", " AAEC_w== "), CancellationToken.None);
        JsonNode expected = JsonNode.Parse(JsonWebSignature.Bind(test.Account.Key, "kid", [0, 1, 2, 255], test.Authority.UrlOf("/new-account")))!;
        Assert.Equal(expected.ToJsonString(), test.Authority.Requests.Last().Json["externalAccountBinding"]!.ToJsonString());
    }

    [Fact]
    public async Task An_order_names_hosts_wildcards_and_addresses()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 201, ScriptedClient.Order, Location, ("Retry-After", "7"));
        AcmeIdentifier[] names = [AcmeIdentifier.Of("example.org"), AcmeIdentifier.Of("*.example.org"), AcmeIdentifier.Of("2001:db8::1")];
        AcmeOrder order = await test.Client.CreateOrderAsync(test.Account, names, profile: null, replaces: null, CancellationToken.None);
        Assert.Equal(
            """{"identifiers":[{"type":"dns","value":"example.org"},{"type":"dns","value":"*.example.org"},{"type":"ip","value":"2001:db8::1"}]}""",
            test.Authority.Requests.Last().Payload);
        Assert.Equal(test.Account.Url.AbsoluteUri, (string)test.Authority.Requests.Last().Header!["kid"]!);
        Assert.Equal(AcmeOrderStatus.Pending, order.Status);
        Assert.Equal([AcmeIdentifier.Of("example.org")], order.Identifiers);
        Assert.Equal([test.Authority.UrlOf("/authz/1")], order.Authorizations);
        Assert.Equal(test.Authority.UrlOf("/finalize/1"), order.Finalize);
        Assert.Equal(new DateTimeOffset(2030, 1, 5, 14, 9, 7, TimeSpan.Zero).AddTicks(1234567), order.Expires);
        Assert.Equal(TimeSpan.FromSeconds(7), order.RetryAfter);
    }

    [Fact]
    public async Task A_profile_is_asked_for_only_where_it_is_offered()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 201, ScriptedClient.Order, Location);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync("shortlived"));
        Assert.EndsWith("does not offer the profile shortlived; it offers: none.", e.Message, StringComparison.Ordinal);

        var profiles = new JsonObject { ["classic"] = "90 days", ["shortlived"] = "6 days" };
        test.Authority.DirectoryObject["meta"] = new JsonObject { ["profiles"] = profiles };
        test.Clock.Advance(TimeSpan.FromHours(2));
        e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync("tlsserver"));
        Assert.EndsWith("it offers: classic, shortlived.", e.Message, StringComparison.Ordinal);
        Assert.Equal(0, test.Authority.CountOf("/new-order"));

        await test.OrderAsync("shortlived");
        Assert.Equal("shortlived", (string)test.Authority.Requests.Last().Json["profile"]!);
    }

    [Fact]
    public async Task What_an_order_replaces_is_named_where_there_is_renewal_information()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 201, ScriptedClient.Order, Location);
        using X509Certificate2 old = X509Certificate2.CreateFromPem(TestCertificates.Rfc9773);
        await test.Client.CreateOrderAsync(test.Account, [AcmeIdentifier.Of("example.org")], profile: null, old, CancellationToken.None);
        Assert.False(test.Authority.Requests.Last().Json.ContainsKey("replaces"));

        test.Authority.DirectoryObject["renewalInfo"] = test.Authority.Origin + "/renewal";
        test.Clock.Advance(TimeSpan.FromHours(2));
        await test.Client.CreateOrderAsync(test.Account, [AcmeIdentifier.Of("example.org")], profile: null, old, CancellationToken.None);
        Assert.Equal(TestCertificates.Rfc9773Id, (string)test.Authority.Requests.Last().Json["replaces"]!);
    }

    [Theory]
    [InlineData(409, "alreadyReplaced", 2)]
    [InlineData(400, "malformed", 2)]
    [InlineData(429, "rateLimited", 1)]
    [InlineData(400, "rejectedIdentifier", 1)]
    public async Task An_order_that_may_not_replace_is_ordered_without(int status, string type, int orders)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.DirectoryObject["renewalInfo"] = test.Authority.Origin + "/renewal";
        test.Authority.On("/new-order", context =>
        {
            if (ScriptedRequest.Of(context).Json.ContainsKey("replaces"))
            {
                return ScriptedAuthority.AnswerJsonAsync(context, status, $$"""{"type":"urn:ietf:params:acme:error:{{type}}"}""");
            }

            context.Response.Headers.Location = "/order/1";
            return ScriptedAuthority.AnswerJsonAsync(
                context, 201, ScriptedClient.Order.Replace("ORIGIN", test.Authority.Origin, StringComparison.Ordinal));
        });
        using X509Certificate2 old = X509Certificate2.CreateFromPem(TestCertificates.Rfc9773);
        Task<AcmeOrder> ordering = test.Client.CreateOrderAsync(
            test.Account, [AcmeIdentifier.Of("example.org")], profile: null, old, CancellationToken.None);
        if (orders == 2)
        {
            Assert.Equal(test.Authority.UrlOf("/order/1"), (await ordering).Url);
        }
        else
        {
            Assert.Equal(type, (await Assert.ThrowsAsync<AcmeException>(() => ordering)).Problem!.Name);
        }

        Assert.Equal(orders, test.Authority.CountOf("/new-order"));
    }

    [Fact]
    public async Task An_authorization_has_its_challenges()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/authz/1", 200, ScriptedClient.Authorization);
        AcmeAuthorization authorization = await test.AuthorizationAsync();
        Assert.Equal("", test.Authority.Requests.Last().Payload);
        Assert.Equal(AcmeAuthorizationStatus.Pending, authorization.Status);
        Assert.True(authorization.IsWildcard);
        Assert.Equal(
            [
                new AcmeChallenge("http-01", test.Authority.UrlOf("/challenge/1"), "DGyRejmCefe7v4NfDGDKfA", "pending", Error: null),
                new AcmeChallenge("other-01", test.Authority.UrlOf("/challenge/2"), "", "invalid", authorization.Challenges[1].Error),
            ],
            authorization.Challenges);
        Assert.Equal("dns: No such host.", authorization.Challenges[1].Error!.ToString());
    }

    [Fact]
    public async Task A_challenge_is_accepted_and_an_authorization_given_up()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/challenge/1", 200, """{"type":"http-01","status":"processing"}""");
        test.Authority.On("/authz/1", 200, """{"status":"deactivated"}""");
        var challenge = new AcmeChallenge("http-01", test.Authority.UrlOf("/challenge/1"), "token", "pending", Error: null);
        await test.Client.AcceptChallengeAsync(test.Account, challenge, CancellationToken.None);
        Assert.Equal("{}", test.Authority.Requests.Last().Payload);
        await test.Client.DeactivateAuthorizationAsync(test.Account, test.Authority.UrlOf("/authz/1"), CancellationToken.None);
        Assert.Equal("""{"status":"deactivated"}""", test.Authority.Requests.Last().Payload);
        Assert.Empty(test.Authority.Faults);
    }

    [Fact]
    public async Task A_signing_request_and_a_revocation_are_sent_in_base64url()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 201, ScriptedClient.Order, Location);
        test.Authority.On("/finalize/1", 200, ScriptedClient.Order.Replace("pending", "processing", StringComparison.Ordinal));
        test.Authority.On("/revoke", static _ => Task.CompletedTask);
        AcmeOrder order = await test.Client.FinalizeAsync(test.Account, await test.OrderAsync(), [0xFB, 0xFF], CancellationToken.None);
        Assert.Equal((AcmeOrderStatus.Processing, test.Authority.UrlOf("/order/1")), (order.Status, order.Url));
        Assert.Equal("""{"csr":"-_8"}""", test.Authority.Requests.Last().Payload);

        using X509Certificate2 certificate = TestCertificates.SelfSigned();
        await test.Client.RevokeAsync(test.Account, certificate, CancellationToken.None);
        string sent = (string)test.Authority.Requests.Last().Json["certificate"]!;
        Assert.Equal(certificate.RawData, System.Buffers.Text.Base64Url.DecodeFromChars(sent));
        Assert.Empty(test.Authority.Faults);
    }

    [Fact]
    public async Task A_download_has_the_default_chain_and_the_alternates()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        using X509Certificate2 first = TestCertificates.SelfSigned("one");
        using X509Certificate2 second = TestCertificates.SelfSigned("two");
        OnChain(test, "/certificate/1", first.ExportCertificatePem() + "\r\n" + second.ExportCertificatePem(), context =>
        {
            context.Response.Headers.Append("Link", $"<{test.Authority.Directory}>;rel=\"index\"");
            context.Response.Headers.Append(
                "Link", """</certificate/1/1>; title="a, <b>; rel=up"; rel="alternate", </certificate/1/2>;rel=alternate, <ftp://127.0.0.1/3>;rel="alternate" """);
        });
        OnChain(test, "/certificate/1/2", second.ExportCertificatePem());

        // The alternate 1 does not exist, which is no reason to have no certificate.
        IReadOnlyList<string> chains = await test.DownloadAsync();
        Assert.Equal(
            [first.ExportCertificatePem() + "\n" + second.ExportCertificatePem() + "\n", second.ExportCertificatePem() + "\n"], chains);
        Assert.Equal(1, test.Authority.CountOf("/certificate/1/1"));
        Assert.Empty(test.Authority.Faults);
    }

    /// <summary>Also where an authority leaves out the offset of a time, which is UTC then.</summary>
    [Theory]
    [InlineData("2030-02-01T00:00:00Z")]
    [InlineData("2030-02-01T00:00:00")]
    public async Task Renewal_information_is_asked_for_without_a_signature(string begin)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        using X509Certificate2 certificate = X509Certificate2.CreateFromPem(TestCertificates.Rfc9773);
        Assert.Null(await test.Client.GetRenewalInfoAsync(certificate, CancellationToken.None));

        test.Authority.DirectoryObject["renewalInfo"] = test.Authority.Origin + "/renewal/";
        test.Clock.Advance(TimeSpan.FromHours(2));
        const string Path = "/renewal/" + TestCertificates.Rfc9773Id;
        string window =
            $$$"""{"suggestedWindow":{"start":"{{{begin}}}","end":"2030-02-02T01:00:00+01:00"},"explanationURL":"https://example.org/why"}""";
        test.Authority.On(Path, 200, window, ("Retry-After", "7200"));
        RenewalInfo? info = await test.Client.GetRenewalInfoAsync(certificate, CancellationToken.None);
        var start = new DateTimeOffset(2030, 2, 1, 0, 0, 0, TimeSpan.Zero);
        Assert.Equal(new RenewalInfo(start, start.AddDays(1), new Uri("https://example.org/why"), TimeSpan.FromHours(2)), info);
        Assert.Equal("GET " + Path, Lines(test)[^1]);

        using X509Certificate2 nameless = TestCertificates.SelfSigned();
        Assert.Null(await test.Client.GetRenewalInfoAsync(nameless, CancellationToken.None));
    }

    [Theory]
    [InlineData("0", 60)]
    [InlineData("59", 60)]
    [InlineData("99999999", 86400)]
    [InlineData("Tue, 01 Jan 2030 03:00:00 GMT", 10800)]
    [InlineData("soon", 21600)]
    [InlineData(null, 21600)]
    public async Task Renewal_information_is_asked_for_again_in_a_minute_to_a_day(string? retryAfter, int seconds)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.DirectoryObject["renewalInfo"] = test.Authority.Origin + "/renewal";
        const string Window = """{"suggestedWindow":{"start":"2030-02-01T00:00:00Z","end":"2030-02-02T00:00:00Z"},"explanationURL":"javascript:alert(1)"}""";
        test.Authority.On("/renewal/" + TestCertificates.Rfc9773Id, 200, Window, retryAfter is null ? [] : [("Retry-After", retryAfter)]);
        using X509Certificate2 certificate = X509Certificate2.CreateFromPem(TestCertificates.Rfc9773);
        RenewalInfo? info = await test.Client.GetRenewalInfoAsync(certificate, CancellationToken.None);
        Assert.Equal(TimeSpan.FromSeconds(seconds), info!.RetryAfter);
        Assert.Null(info.Explanation);
    }

    [Fact]
    public async Task The_directory_is_read_again_after_an_hour()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", 201, ScriptedClient.Order, Location);
        await test.OrderAsync();
        test.Clock.Advance(TimeSpan.FromMinutes(59));
        await test.OrderAsync();
        Assert.Equal(1, test.Authority.CountOf("/dir"));
        test.Clock.Advance(TimeSpan.FromMinutes(2));
        await test.OrderAsync();
        Assert.Equal(2, test.Authority.CountOf("/dir"));
    }

    [Fact]
    public async Task Authorities_are_reached_by_ipv6()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
        await using ScriptedAuthority authority = await ScriptedAuthority.StartAsync(IPAddress.IPv6Loopback);
        authority.On("/new-account", 201, """{"status":"valid"}""", ("Location", "ORIGIN/account/7"));
        using var client = new AcmeClient(authority.Directory, roots: null, TimeProvider.System, NullLogger.Instance);
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        AcmeAccount account = await client.CreateAccountAsync(key, email: null, external: null, CancellationToken.None);
        Assert.StartsWith("http://[::1]:", account.Url.AbsoluteUri, StringComparison.Ordinal);
        Assert.Empty(authority.Faults);
    }

    private static void OnChain(ScriptedClient test, string path, string pem, Action<HttpContext>? prepare = null) =>
        test.Authority.On(path, context =>
        {
            prepare?.Invoke(context);
            context.Response.ContentType = AcmeRequest.Pem + "; charset=utf-8";
            return context.Response.WriteAsync(pem);
        });

    private static List<string> Lines(ScriptedClient test) =>
        [.. test.Authority.Requests.Select(static request => $"{request.Method} {request.Path}")];
}
