using System.Buffers.Text;
using System.Globalization;
using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.Json;
using System.Text.Json.Nodes;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Millrace.Acme.Tests.Authority;

/// <summary>
/// A certificate authority of RFC 8555 and RFC 9773 on a port of this machine, on the clock of a test. It validates by asking the tables of
/// the managers under test, and the file of the DNS hook. What it does wrong is scripted. One lock for all requests.
/// </summary>
internal sealed class TestAuthority : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private readonly TimeProvider _clock;
    private readonly HashSet<string> _nonces = [];
    private readonly List<TestAccount> _accounts = [];
    private readonly List<TestOrder> _orders = [];
    private readonly List<TestAuthorization> _authorizations = [];
    private readonly WebApplication _app;
    private readonly List<ITimer> _timers = [];
    private int _posts;
    private int _idOffset;

    private TestAuthority(TimeProvider clock, TestIssuer issuer, WebApplication app)
    {
        _clock = clock;
        Issuer = issuer;
        _app = app;
        app.Run(HandleAsync);
    }

    public TestIssuer Issuer { get; }

    public Uri Url { get; private set; } = null!;

    public Uri DirectoryUrl => new(Url, "/directory");

    /// <summary>The tables that answer validations now.</summary>
    public List<ChallengeTable> Tables { get; } = [];

    /// <summary>Lines of "NAME VALUE", as a hook writes them.</summary>
    public string? DnsFile { get; set; }

    public TimeSpan Lifetime { get; set; } = TimeSpan.FromDays(90);

    /// <summary>From accepting a challenge to its validation.</summary>
    public TimeSpan ValidationTime { get; set; } = TimeSpan.FromSeconds(2);

    /// <summary>The pause that is wanted while authorizations are asked for; null for none.</summary>
    public TimeSpan? ValidationRetryAfter { get; set; }

    /// <summary>From finalizing to the certificate.</summary>
    public TimeSpan IssuanceTime { get; set; } = TimeSpan.FromSeconds(1);

    public TimeSpan OrderLifetime { get; set; } = TimeSpan.FromDays(7);

    /// <summary>The suggested window by the certificate; null: the directory has no renewal information.</summary>
    public Func<X509Certificate2, (DateTimeOffset Start, DateTimeOffset End)>? Window { get; set; }

    public TimeSpan WindowRetryAfter { get; set; } = TimeSpan.FromHours(6);

    public IReadOnlyList<string> Offered { get; set; } = ["http-01", "tls-alpn-01", "dns-01"];

    public IReadOnlyList<string> Profiles { get; set; } = [];

    /// <summary>Closes connections without an answer.</summary>
    public bool IsDown { get; set; }

    /// <summary>Refuses the nonce of each request whose number this divides; 0 for none.</summary>
    public int BadNonceEvery { get; set; }

    /// <summary>Challenges are accepted and never validated.</summary>
    public bool IsStuck { get; set; }

    /// <summary>Types whose validation fails, whatever is answered.</summary>
    public HashSet<string> Unreachable { get; } = [];

    /// <summary>Changes what is issued: the request, and the begin of its validity.</summary>
    public Func<CertificateRequest, DateTimeOffset, (CertificateRequest Request, DateTimeOffset NotBefore)> Issue { get; set; } =
        static (request, now) => (request, now);

    /// <summary>Refuses a request, by the name of the operation.</summary>
    public Func<string, TestProblem?> Refuse { get; set; } = static _ => null;

    /// <summary>What is wrong with an order: a status that it keeps, "malformed" or "500"; null for nothing.</summary>
    public Func<TestOrder, string?> OrderFault { get; set; } = static _ => null;

    /// <summary>Before an operation is done; a test holds it here.</summary>
    public Func<string, Task> Delay { get; set; } = static _ => Task.CompletedTask;

    /// <summary>The operations that were done, by name.</summary>
    public List<string> Operations { get; } = [];

    public IReadOnlyList<TestAccount> Accounts => _accounts;

    public IReadOnlyList<TestOrder> Orders => _orders;

    public IReadOnlyList<TestAuthorization> Authorizations => _authorizations;

    public IEnumerable<TestOrder> Issued => _orders.Where(static order => order.Certificate is not null);

    /// <summary>Loses accounts and orders, as an authority of a laboratory does that is started again.</summary>
    public void Forget()
    {
        lock (_lock)
        {
            _accounts.Clear();
            _orders.Clear();
            _authorizations.Clear();
            _idOffset += 1000;
        }
    }

    public int Count(string operation) => Operations.Count(done => done == operation);

    public static async Task<TestAuthority> StartAsync(TimeProvider clock)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrelHttpsConfiguration();
        var issuer = new TestIssuer();
        builder.WebHost.ConfigureKestrel(options => options.Listen(
            IPAddress.Loopback, 0, listen => listen.UseHttps(issuer.ServerCertificate)));
        WebApplication app = builder.Build();
        var authority = new TestAuthority(clock, issuer, app);
        await app.StartAsync();
        string address = app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.Single();
        authority.Url = new Uri(address.Replace("127.0.0.1", "localhost", StringComparison.Ordinal));
        return authority;
    }

    public async ValueTask DisposeAsync() => await _app.DisposeAsync();

    private async Task HandleAsync(HttpContext context)
    {
        try
        {
            if (IsDown)
            {
                context.Abort();
                return;
            }

            string[] path = context.Request.Path.Value!.Split('/', StringSplitOptions.RemoveEmptyEntries);
            using var body = new StreamReader(context.Request.Body);
            string text = await body.ReadToEndAsync();
            await Delay(path[0]);
            context.Response.Headers["Replay-Nonce"] = NewNonce();
            Reply reply;
            try
            {
                lock (_lock)
                {
                    reply = Answer(path, text, context.Request);
                }
            }
            catch (TestProblem problem)
            {
                context.Response.StatusCode = problem.Status;
                if (problem.RetryAfter is { } wait)
                {
                    context.Response.Headers.RetryAfter = ((int)wait.TotalSeconds).ToString(CultureInfo.InvariantCulture);
                }

                context.Response.ContentType = "application/problem+json";
                await context.Response.WriteAsync(new JsonObject
                {
                    ["type"] = "urn:ietf:params:acme:error:" + problem.Name,
                    ["detail"] = problem.Message,
                    ["status"] = problem.Status,
                }.ToJsonString());
                return;
            }

            context.Response.StatusCode = reply.Status;
            foreach ((string name, string value) in reply.Headers)
            {
                context.Response.Headers.Append(name, value);
            }

            if (reply.Body is not null)
            {
                context.Response.ContentType = reply.Type;
                await context.Response.WriteAsync(reply.Body);
            }
        }
        catch (Exception e) when (e is IOException or OperationCanceledException)
        {
            // The client is gone.
        }
    }

    private Reply Answer(string[] path, string text, HttpRequest request)
    {
        if (Refuse(path[0]) is { } refusal)
        {
            throw refusal;
        }

        switch (path[0])
        {
            case "directory":
                return Json(Directory());
            case "new-nonce":
                return new Reply(200, null);
            case "renewal-info":
                return Renewal(path[1]);
            default:
                break;
        }

        Signed signed = Verify(text, request);
        Operations.Add(path[0]);
        switch (path[0])
        {
            case "new-account":
                return NewAccount(signed);
            case "new-order":
                return NewOrder(signed);
            case "order":
                return OrderFault(OrderOf(signed, path[1])) switch
                {
                    "malformed" => Json(new JsonObject { ["status"] = "lost" }),
                    "500" => throw new TestProblem("serverInternal", "the order cannot be read", 500),
                    _ => Describe(OrderOf(signed, path[1])),
                };
            case "authorization":
                return Authorization(signed, _authorizations[Index(path[1])]);
            case "challenge":
                return Accept(_authorizations[Index(path[1])].Challenges[Index(path[2])]);
            case "finalize":
                return Finalize(OrderOf(signed, path[1]), signed.Payload);
            case "certificate":
                return Certificate(OrderOf(signed, path[1]), path.Length > 2);
            default:
                throw new TestProblem("malformed", $"no such resource {path[0]}", 404);
        }
    }

    private JsonObject Directory()
    {
        var directory = new JsonObject
        {
            ["newNonce"] = At("new-nonce"),
            ["newAccount"] = At("new-account"),
            ["newOrder"] = At("new-order"),
            ["revokeCert"] = At("revoke-cert"),
            ["meta"] = new JsonObject { ["profiles"] = new JsonObject(Profiles.Select(p => KeyValuePair.Create(p, (JsonNode?)"a profile"))) },
        };
        if (Window is not null)
        {
            directory["renewalInfo"] = At("renewal-info");
        }

        return directory;
    }

    private Reply Renewal(string id)
    {
        Operations.Add("renewal-info");
        TestOrder order = Issued.FirstOrDefault(order => TestIssuer.RenewalId(order.Certificate!) == id)
            ?? throw new TestProblem("malformed", "unknown certificate", 404);
        (DateTimeOffset start, DateTimeOffset end) = Window!(order.Certificate!);
        var window = new JsonObject { ["start"] = Time(start), ["end"] = Time(end) };
        return Json(new JsonObject { ["suggestedWindow"] = window })
            .With("Retry-After", ((int)WindowRetryAfter.TotalSeconds).ToString(CultureInfo.InvariantCulture));
    }

    private Reply NewAccount(Signed signed)
    {
        TestAccount? known = _accounts.FirstOrDefault(account => account.Thumbprint == signed.Thumbprint);
        if (known is { IsValid: false })
        {
            throw new TestProblem("unauthorized", "the account is deactivated", 403);
        }

        int status = known is null ? 201 : 200;
        if (known is null)
        {
            known = new TestAccount(_accounts.Count + _idOffset, signed.Jwk!.Value, signed.Thumbprint);
            _accounts.Add(known);
            Operations.Add("account-made");
        }

        return Json(new JsonObject { ["status"] = "valid" }, status).With("Location", At("account", known.Id));
    }

    private Reply NewOrder(Signed signed)
    {
        string[] names = [.. signed.Payload.GetProperty("identifiers").EnumerateArray().Select(static id => id.GetProperty("value").GetString()!)];
        string? replaces = signed.Payload.TryGetProperty("replaces", out JsonElement id) ? id.GetString() : null;
        if (replaces is not null && _orders.Any(other => other.Replaces == replaces && StatusOf(other) != "invalid"))
        {
            throw new TestProblem("alreadyReplaced", "another order replaces it", 409);
        }

        string? profile = signed.Payload.TryGetProperty("profile", out JsonElement named) ? named.GetString() : null;
        var order = new TestOrder(_orders.Count, signed.Account!, names, replaces, profile, _clock.GetUtcNow());
        foreach (string name in names)
        {
            var authorization = new TestAuthorization(_authorizations.Count, signed.Account!, name);
            bool isAddress = IPAddress.TryParse(name, out _);
            IEnumerable<string> types = Offered.Where(
                type => authorization.IsWildcard ? type == "dns-01" : !isAddress || type != "dns-01");
            authorization.Challenges.AddRange(types.Select((type, i) => new TestChallenge(authorization, i, type, RandomText())));
            _authorizations.Add(authorization);
            order.Authorizations.Add(authorization);
        }

        _orders.Add(order);
        return Describe(order, 201).With("Location", At("order", order.Id));
    }

    private Reply Describe(TestOrder order, int status = 200)
    {
        string state = StatusOf(order);
        var json = new JsonObject
        {
            ["status"] = state,
            ["expires"] = Time(order.Made + OrderLifetime),
            ["identifiers"] = new JsonArray([.. order.Names.Select(Identifier)]),
            ["authorizations"] = new JsonArray([.. order.Authorizations.Select(a => (JsonNode)At("authorization", a.Id))]),
            ["finalize"] = At("finalize", order.Id),
        };
        if (state == "valid")
        {
            json["certificate"] = At("certificate", order.Id);
        }

        return Json(json, status).With("Retry-After", "1");
    }

    private Reply Authorization(Signed signed, TestAuthorization authorization)
    {
        if (authorization.Account != signed.Account)
        {
            throw new TestProblem("unauthorized", "it is of another account", 403);
        }

        if (signed.Payload.ValueKind == JsonValueKind.Object && signed.Payload.TryGetProperty("status", out _))
        {
            Operations.Add("deactivated");
            authorization.Status = "deactivated";
        }

        Validate(authorization);
        var json = new JsonObject
        {
            ["status"] = authorization.Status,
            ["identifier"] = Identifier(authorization.Host),
            ["challenges"] = new JsonArray([.. authorization.Challenges.Select(Describe)]),
        };
        if (authorization.IsWildcard)
        {
            json["wildcard"] = true;
        }

        return ValidationRetryAfter is { } wait
            ? Json(json).With("Retry-After", ((int)wait.TotalSeconds).ToString(CultureInfo.InvariantCulture))
            : Json(json);
    }

    private JsonNode Describe(TestChallenge challenge)
    {
        var json = new JsonObject
        {
            ["type"] = challenge.Type,
            ["url"] = At("challenge", challenge.Authorization.Id, challenge.Id),
            ["token"] = challenge.Token,
            ["status"] = challenge.Status,
        };
        if (challenge.Error is not null)
        {
            json["error"] = new JsonObject { ["type"] = "urn:ietf:params:acme:error:unauthorized", ["detail"] = challenge.Error };
        }

        return json;
    }

    private Reply Accept(TestChallenge challenge)
    {
        if (challenge.Status == "pending")
        {
            challenge.Status = "processing";
            challenge.Accepted = _clock.GetUtcNow();
            _timers.Add(_clock.CreateTimer(_ => ValidateDue(), null, ValidationTime, Timeout.InfiniteTimeSpan));
        }

        return Json(Describe(challenge));
    }

    private Reply Finalize(TestOrder order, JsonElement payload)
    {
        if (StatusOf(order) != "ready")
        {
            throw new TestProblem("orderNotReady", $"the order is {StatusOf(order)}", 403);
        }

        order.SigningRequest = Base64Url.DecodeFromChars(payload.GetProperty("csr").GetString()!);
        CertificateRequest request = TestIssuer.Load(order.SigningRequest);
        (request, DateTimeOffset notBefore) = Issue(request, _clock.GetUtcNow());
        order.Finalized = _clock.GetUtcNow();
        order.Certificate = Issuer.Issue(request, notBefore, notBefore + Lifetime);
        return Describe(order);
    }

    private Reply Certificate(TestOrder order, bool isAlternate)
    {
        string chain = order.Certificate!.ExportCertificatePem() + "\n" + Issuer.Intermediate(isAlternate).ExportCertificatePem() + "\n";
        Reply reply = new(200, chain, "application/pem-certificate-chain");
        return isAlternate ? reply : reply.With("Link", $"<{At("certificate", order.Id)}/1>;rel=\"alternate\"");
    }

    private string StatusOf(TestOrder order)
    {
        order.Authorizations.ForEach(Validate);
        if (OrderFault(order) is "pending" or "processing" && order.Authorizations.TrueForAll(static a => a.Status == "valid"))
        {
            return OrderFault(order)!;
        }

        if (order.Certificate is not null)
        {
            return _clock.GetUtcNow() < order.Finalized + IssuanceTime ? "processing" : "valid";
        }

        return order.IsInvalid || _clock.GetUtcNow() >= order.Made + OrderLifetime
            || order.Authorizations.Exists(static a => a.Status is not ("pending" or "valid")) ? "invalid"
            : order.Authorizations.TrueForAll(static a => a.Status == "valid") ? "ready"
            : "pending";
    }

    /// <summary>Makes the validations whose time has come, as other authorities do without being asked.</summary>
    private void ValidateDue()
    {
        lock (_lock)
        {
            _authorizations.ForEach(Validate);
        }
    }

    private void Validate(TestAuthorization authorization)
    {
        TestChallenge? challenge = authorization.Challenges.Find(static challenge => challenge.Status == "processing");
        if (challenge is null || authorization.Status != "pending" || IsStuck || _clock.GetUtcNow() < challenge.Accepted + ValidationTime)
        {
            return;
        }

        challenge.Error = Unreachable.Contains(challenge.Type)
            ? "connection refused"
            : TestValidation.Fault(challenge, authorization.Account.Thumbprint, Tables, DnsFile);
        challenge.Status = authorization.Status = challenge.Error is null ? "valid" : "invalid";
    }

    private TestOrder OrderOf(Signed signed, string id)
    {
        TestOrder order = _orders[Index(id)];
        return order.Account == signed.Account ? order : throw new TestProblem("unauthorized", "it is of another account", 403);
    }

    /// <summary>RFC 8555, section 6.2 and following.</summary>
    private Signed Verify(string text, HttpRequest request)
    {
        using var document = JsonDocument.Parse(text);
        string encodedHeader = document.RootElement.GetProperty("protected").GetString()!;
        string encodedPayload = document.RootElement.GetProperty("payload").GetString()!;
        using var header = JsonDocument.Parse(Base64Url.DecodeFromChars(encodedHeader));
        bool isNonceKnown = _nonces.Remove(header.RootElement.GetProperty("nonce").GetString()!);
        if (!isNonceKnown || (BadNonceEvery > 0 && ++_posts % BadNonceEvery == 0))
        {
            throw new TestProblem("badNonce", "the nonce is unknown", 400);
        }

        if (header.RootElement.GetProperty("url").GetString() != $"https://{request.Host}{request.Path}")
        {
            throw new TestProblem("unauthorized", "signed for another URL", 403);
        }

        TestAccount? account = null;
        JsonElement? jwk = null;
        if (header.RootElement.TryGetProperty("kid", out JsonElement kid))
        {
            account = _accounts.Find(known => At("account", known.Id) == kid.GetString())
                ?? throw new TestProblem("accountDoesNotExist", "no such account", 400);
            if (!account.IsValid)
            {
                throw new TestProblem("unauthorized", "the account is deactivated", 403);
            }
        }
        else
        {
            jwk = header.RootElement.GetProperty("jwk").Clone();
        }

        JsonElement keyJson = account?.Jwk ?? jwk!.Value;
        using var key = ECDsa.Create(new ECParameters
        {
            Curve = ECCurve.NamedCurves.nistP256,
            Q = new ECPoint { X = Part(keyJson, "x"), Y = Part(keyJson, "y") },
        });
        byte[] signature = Base64Url.DecodeFromChars(document.RootElement.GetProperty("signature").GetString()!);
        if (!key.VerifyData(System.Text.Encoding.ASCII.GetBytes($"{encodedHeader}.{encodedPayload}"), signature, HashAlgorithmName.SHA256))
        {
            throw new TestProblem("malformed", "the signature is wrong", 400);
        }

        byte[] payload = Base64Url.DecodeFromChars(encodedPayload);
        return new Signed(account, jwk, Thumbprint(keyJson), payload.Length == 0 ? default : JsonDocument.Parse(payload).RootElement);
    }

    private static byte[] Part(JsonElement key, string name) => Base64Url.DecodeFromChars(key.GetProperty(name).GetString()!);

    private static string Thumbprint(JsonElement jwk)
    {
        string canonical = $$"""{"crv":"P-256","kty":"EC","x":"{{jwk.GetProperty("x").GetString()}}","y":"{{jwk.GetProperty("y").GetString()}}"}""";
        return Base64Url.EncodeToString(SHA256.HashData(System.Text.Encoding.ASCII.GetBytes(canonical)));
    }

    private string NewNonce()
    {
        string nonce = RandomText();
        lock (_lock)
        {
            _nonces.Add(nonce);
        }

        return nonce;
    }

    private static string RandomText() => Base64Url.EncodeToString(RandomNumberGenerator.GetBytes(16));

    private static int Index(string text) => int.Parse(text, CultureInfo.InvariantCulture);

    private static string Time(DateTimeOffset time) => time.UtcDateTime.ToString("O", CultureInfo.InvariantCulture);

    private static JsonNode Identifier(string name) =>
        new JsonObject { ["type"] = IPAddress.TryParse(name, out _) ? "ip" : "dns", ["value"] = name };

    private string At(string resource) => new Uri(Url, $"/{resource}").AbsoluteUri;

    private string At(string resource, params int[] ids) => At($"{resource}/{string.Join('/', ids)}");

    private static Reply Json(JsonNode body, int status = 200) => new(status, body.ToJsonString());

    private sealed record Signed(TestAccount? Account, JsonElement? Jwk, string Thumbprint, JsonElement Payload);

    private sealed record Reply(int Status, string? Body, string Type = "application/json")
    {
        public List<(string Name, string Value)> Headers { get; } = [];

        public Reply With(string name, string value)
        {
            Headers.Add((name, value));
            return this;
        }
    }
}
