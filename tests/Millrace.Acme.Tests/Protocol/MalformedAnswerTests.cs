using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json.Nodes;
using Microsoft.AspNetCore.Http;
using Millrace.Acme.Protocol;
using Millrace.Acme.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Acme.Tests.Protocol;

/// <summary>Answers that RFC 8555 does not allow: an <see cref="AcmeException"/> says what is wrong, and nothing else is thrown.</summary>
public sealed class MalformedAnswerTests
{
    private static readonly (string, string) Location = ("Location", "ORIGIN/order/1");

    [Theory]
    [InlineData("", "is not JSON")]
    [InlineData("nonsense", "is not JSON")]
    [InlineData("""{"newNonce":""", "is not JSON")]
    [InlineData("[]", "a JSON object is expected, not an array")]
    [InlineData("null", "a JSON object is expected, not null")]
    [InlineData("{}", "the field \"newNonce\" is missing")]
    [InlineData("""{"newNonce":7}""", "the field \"newNonce\" is a number, not a string")]
    [InlineData("""{"newNonce":null}""", "the field \"newNonce\" is missing")]
    [InlineData("""{"newNonce":"/nonce"}""", "the field \"newNonce\" has a URL that is not used: \"/nonce\"")]
    [InlineData("""{"newNonce":"http://192.0.2.1/nonce"}""", "has a URL that is not used")]
    [InlineData("""{"newNonce":"file:///etc/passwd"}""", "has a URL that is not used")]
    [InlineData("""{"newNonce":"\ud800"}""", "not valid")]
    [InlineData("""{"newNonce":"ORIGIN/nonce","newAccount":"ORIGIN/a","newOrder":"ORIGIN/o","meta":[]}""", "a JSON object is expected, not an array")]
    public async Task A_directory_that_is_not_valid_is_named(string body, string why)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/dir", 200, body);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.StartsWith(
            $"The answer of the authority {test.Authority.Directory.Authority} to the request for the directory is not valid: ", e.Message,
            StringComparison.Ordinal);
        Assert.Contains(why, e.Message, StringComparison.Ordinal);
        Assert.EndsWith($" (GET {test.Authority.Directory})", e.Message, StringComparison.Ordinal);
        Assert.Null(e.Problem);
    }

    [Fact]
    public async Task Every_required_field_of_an_order_and_an_authorization_is_missed()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        foreach (string field in (string[])["status", "identifiers", "authorizations", "finalize"])
        {
            test.Authority.On("/new-order", 201, Without(ScriptedClient.Order, field), Location);
            AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
            Assert.Contains($"the field \"{field}\" is missing", e.Message, StringComparison.Ordinal);
        }

        foreach (string field in (string[])["status", "identifier", "challenges"])
        {
            test.Authority.On("/authz/1", 200, Without(ScriptedClient.Authorization, field));
            AcmeException e = await Assert.ThrowsAsync<AcmeException>(test.AuthorizationAsync);
            Assert.Contains($"the field \"{field}\" is missing", e.Message, StringComparison.Ordinal);
        }

        test.Authority.On("/new-order", 201, ScriptedClient.Order);
        await RefusesAsync("the header Location is missing");
        test.Authority.On("/new-order", 201, ScriptedClient.Order.Replace("pending", "valid", StringComparison.Ordinal), Location);
        await RefusesAsync("the field \"certificate\" is missing");
        test.Authority.On("/new-order", 201, ScriptedClient.Order.Replace("pending", "0", StringComparison.Ordinal), Location);
        await RefusesAsync("the unknown value \"0\"");

        async Task RefusesAsync(string why) => Assert.Contains(
            why, (await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync())).Message, StringComparison.Ordinal);
    }

    /// <summary>It becomes a part of paths and of commands.</summary>
    [Theory]
    [InlineData("../../etc/passwd")]
    [InlineData("a b")]
    [InlineData("ä")]
    [InlineData("")]
    public async Task A_token_that_is_not_base64url_is_refused(string token)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/authz/1", 200, ScriptedClient.Authorization.Replace("DGyRejmCefe7v4NfDGDKfA", token, StringComparison.Ordinal));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(test.AuthorizationAsync);
        Assert.Contains($"the token of the challenge http-01 is not Base64Url: \"{token}\"", e.Message, StringComparison.Ordinal);
    }

    /// <summary>Cut off at every byte, and with every value replaced by values of other types.</summary>
    [Fact]
    public async Task Nothing_but_an_acme_exception_comes_of_a_damaged_answer()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        int refused = 0;
        int read = 0;
        string whole = ScriptedClient.Authorization.Replace("ORIGIN", test.Authority.Origin, StringComparison.Ordinal);
        foreach (string damaged in Enumerable.Range(0, whole.Length - 1).Select(length => whole[..length]).Concat(Replaced(whole)))
        {
            test.Authority.On("/authz/1", 200, damaged);
            try
            {
                await test.AuthorizationAsync();
                read++;
            }
            catch (AcmeException e)
            {
                Assert.Contains(" to the request for the authorization is not valid: ", e.Message, StringComparison.Ordinal);
                refused++;
            }
        }

        Assert.Empty(test.Authority.Faults);
        Assert.True(refused > whole.Length && read > 10, $"{refused} refused, {read} read");
    }

    [Theory]
    [InlineData("text/html")]
    [InlineData("application/jsonp")]
    [InlineData("; ;")]
    public async Task An_answer_of_another_type_is_not_read(string contentType)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/dir", context =>
        {
            context.Response.Headers.ContentType = contentType;
            return context.Response.WriteAsync(test.Authority.DirectoryObject.ToJsonString());
        });
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.Contains($"the Content-Type is {contentType} ", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(64, true)]
    [InlineData(65, false)]
    public async Task An_answer_in_json_has_64_kib_at_most(int kib, bool isRead)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        string order = ScriptedClient.Order.Replace("ORIGIN", test.Authority.Origin, StringComparison.Ordinal);
        test.Authority.On("/new-order", 201, order.PadRight(kib * 1024), Location);
        if (isRead)
        {
            await test.OrderAsync();
        }
        else
        {
            AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
            Assert.Contains("the answer is longer than 64 KiB", e.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task An_endless_answer_is_given_up()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        var ended = new TaskCompletionSource();
        test.Authority.On("/certificate/1", async context =>
        {
            context.Response.ContentType = AcmeRequest.Pem;
            try
            {
                while (true)
                {
                    await context.Response.WriteAsync("-----BEGIN CERTIFICATE-----\n", context.RequestAborted);
                }
            }
            finally
            {
                ended.SetResult();
            }
        });
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(test.DownloadAsync);
        Assert.Contains("the answer is longer than 256 KiB", e.Message, StringComparison.Ordinal);
        await ended.Task.WaitAsync(TimeSpan.FromSeconds(30));
    }

    [Fact]
    public async Task An_answer_that_breaks_off_is_an_error()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.On("/new-order", async context =>
        {
            context.Response.ContentType = "application/json";
            context.Response.ContentLength = 1000;
            await context.Response.WriteAsync("{");
            await context.Response.Body.FlushAsync();
            context.Abort();
        });
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.StartsWith(
            $"The authority {test.Authority.Directory.Authority} does not answer the request for the order: ", e.Message, StringComparison.Ordinal);

        // Before the first byte.
        test.Authority.On("/new-order", static context =>
        {
            context.Abort();
            return Task.CompletedTask;
        });
        e = await Assert.ThrowsAsync<AcmeException>(() => test.OrderAsync());
        Assert.EndsWith($"(POST {test.Authority.Origin}/new-order)", e.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("nonsense\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=\"nowhere\"\r\nContent-Length: 1\r\n\r\n\xff")]
    [InlineData("HTTP/1.1 302 Found\r\nLocation: http://[::bad/\r\nContent-Length: 0\r\n\r\n")]
    [InlineData("SSH-2.0-OpenSSH_10.0\r\n")]
    public async Task What_is_not_http_is_an_error(string answer)
    {
        await using RawServer server = RawServer.Start(Encoding.Latin1.GetBytes(answer));
        using var client = new AcmeClient(server.Url, roots: null, TimeProvider.System, new LogLines());
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => client.CreateAccountAsync(key, email: null, external: null, CancellationToken.None));
        Assert.EndsWith($"(GET {server.Url})", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Nobody_at_the_port_is_an_error()
    {
        int port = FreePort.Find();
        using var client = new AcmeClient(new Uri($"http://127.0.0.1:{port}/dir"), roots: null, TimeProvider.System, new LogLines());
        using ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(
            () => client.CreateAccountAsync(key, email: null, external: null, CancellationToken.None));
        Assert.Equal(
            $"The authority 127.0.0.1:{port} does not answer the request for the directory: Connection refused (127.0.0.1:{port}) "
                + $"(GET http://127.0.0.1:{port}/dir)",
            e.Message);
        Assert.Null(e.Problem);
        Assert.Null(e.RetryAfter);
    }

    [Fact]
    public async Task An_authority_that_is_silent_is_given_up_after_a_minute()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        var asked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        test.Authority.On("/new-order", context =>
        {
            asked.TrySetResult();
            return Task.Delay(Timeout.Infinite, context.RequestAborted);
        });
        Task<AcmeOrder> ordering = test.OrderAsync();
        await asked.Task.WaitAsync(TimeSpan.FromSeconds(30));
        test.Clock.Advance(TimeSpan.FromSeconds(59));
        Assert.False(ordering.IsCompleted);
        test.Clock.Advance(TimeSpan.FromSeconds(1));
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => ordering.WaitAsync(TimeSpan.FromSeconds(30)));
        Assert.Contains("does not answer the request for the order: not within 60 s", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_caller_that_gives_up_is_not_told_of_an_authority()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        using var cancel = new CancellationTokenSource();
        test.Authority.On("/authz/1", async context =>
        {
            await cancel.CancelAsync();
            await Task.Delay(Timeout.Infinite, context.RequestAborted);
        });
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => test.Client.GetAuthorizationAsync(test.Account, test.Authority.UrlOf("/authz/1"), cancel.Token));
    }

    [Fact]
    public async Task A_chain_is_certificates_only_and_whole()
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        using X509Certificate2 certificate = TestCertificates.SelfSigned();
        string pem = certificate.ExportCertificatePem();
        (string Type, string Body)[] refused =
        [
            (AcmeRequest.Pem, ""),
            (AcmeRequest.Pem, "nonsense"),
            (AcmeRequest.Pem, pem[..^10]),
            (AcmeRequest.Pem, pem + "\n" + pem[..^30]),
            (AcmeRequest.Pem, pem + "\n" + certificate.GetECDsaPrivateKey()!.ExportECPrivateKeyPem()),
            (AcmeRequest.Pem, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            ("text/plain", pem),
            ("application/json", "{}"),
        ];
        foreach ((string type, string body) in refused)
        {
            test.Authority.On("/certificate/1", context =>
            {
                context.Response.ContentType = type;
                return context.Response.WriteAsync(body);
            });
            AcmeException e = await Assert.ThrowsAsync<AcmeException>(test.DownloadAsync);
            Assert.Contains("to the request for the certificate is not valid: ", e.Message, StringComparison.Ordinal);
        }

        // What is between certificates is left out.
        test.Authority.On("/certificate/1", context =>
        {
            context.Response.ContentType = AcmeRequest.Pem;
            return context.Response.WriteAsync("subject=CN = example.org\n" + pem);
        });
        Assert.Equal([pem + "\n"], await test.DownloadAsync());
    }

    [Theory]
    [InlineData("""{"suggestedWindow":{"start":"2030-02-02T00:00:00Z","end":"2030-02-01T00:00:00Z"}}""", "ends before it begins")]
    [InlineData("""{"suggestedWindow":{"start":"2030-02-02T00:00:00Z"}}""", "the field \"end\" is missing, or is not a time")]
    [InlineData("""{"suggestedWindow":{"start":"tomorrow","end":"2030-02-01T00:00:00Z"}}""", "the field \"start\" is missing, or is not a time")]
    [InlineData("{}", "the field \"suggestedWindow\" is missing")]
    public async Task A_renewal_window_that_is_not_valid_is_named(string body, string why)
    {
        await using ScriptedClient test = await ScriptedClient.StartAsync();
        test.Authority.DirectoryObject["renewalInfo"] = test.Authority.Origin + "/renewal";
        test.Authority.On("/renewal/" + TestCertificates.Rfc9773Id, 200, body);
        using X509Certificate2 certificate = X509Certificate2.CreateFromPem(TestCertificates.Rfc9773);
        AcmeException e = await Assert.ThrowsAsync<AcmeException>(() => test.Client.GetRenewalInfoAsync(certificate, CancellationToken.None));
        Assert.Contains("to the request for the renewal information is not valid: ", e.Message, StringComparison.Ordinal);
        Assert.Contains(why, e.Message, StringComparison.Ordinal);
    }

    private static string Without(string json, string field)
    {
        JsonObject value = JsonNode.Parse(json)!.AsObject();
        value.Remove(field);
        return value.ToJsonString();
    }

    /// <summary>The object with one value replaced, for every value in it.</summary>
    private static IEnumerable<string> Replaced(string json)
    {
        string[] others = ["null", "7", "1e999", "true", "[]", "{}", "\"\"", "\"\\ud800\"", "[[]]", "[{}]", "\"ftp://x\""];
        int count = Values(JsonNode.Parse(json)!).Count;
        for (int i = 0; i < count; i++)
        {
            foreach (string other in others)
            {
                JsonNode copy = JsonNode.Parse(json)!;
                Values(copy)[i].ReplaceWith("@@");
                yield return copy.ToJsonString().Replace("\"@@\"", other, StringComparison.Ordinal);
            }
        }
    }

    private static List<JsonNode> Values(JsonNode node)
    {
        IEnumerable<JsonNode?> members = node switch
        {
            JsonObject value => value.Select(static member => member.Value),
            JsonArray value => value,
            _ => [],
        };
        return [.. members.SelectMany(static member => Values(member!).Prepend(member!))];
    }
}
