using System.Buffers.Text;
using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json.Nodes;
using Microsoft.AspNetCore.Http;

namespace Millrace.Acme.Tests.Kit;

/// <summary>
/// An authority that answers by a test's script, on plain HTTP. It has a directory and nonces, checks every signed request as RFC 8555,
/// section 6 wants it (a fault answers with HTTP 418, and is kept), and answers 404 where the test has said nothing.
/// </summary>
internal sealed class ScriptedAuthority : IAsyncDisposable
{
    private readonly ConcurrentDictionary<string, RequestDelegate> _answers = [];
    private readonly ConcurrentDictionary<string, bool> _nonces = [];
    private LoopbackServer? _server;
    private int _nonceCount;

    /// <summary>Every request, in the order of their arrival.</summary>
    public ConcurrentQueue<ScriptedRequest> Requests { get; } = [];

    /// <summary>What was wrong with signed requests.</summary>
    public ConcurrentQueue<string> Faults { get; } = [];

    /// <summary>By which requests are verified that do not enclose one.</summary>
    public ECDsa? Key { get; set; }

    /// <summary>Without a slash at its end.</summary>
    public string Origin => _server!.Url.GetLeftPart(UriPartial.Authority);

    public Uri Directory => UrlOf("/dir");

    /// <summary>The object at <c>/dir</c>.</summary>
    public JsonObject DirectoryObject { get; private set; } = [];

    public static async Task<ScriptedAuthority> StartAsync(IPAddress? address = null)
    {
        var authority = new ScriptedAuthority();
        authority._server = await LoopbackServer.StartAsync(address ?? IPAddress.Loopback, 0, authority.AnswerAsync);
        authority.DirectoryObject = new JsonObject
        {
            ["newNonce"] = authority.Origin + "/nonce",
            ["newAccount"] = authority.Origin + "/new-account",
            ["newOrder"] = authority.Origin + "/new-order",
            ["revokeCert"] = authority.Origin + "/revoke",
        };
        authority.On("/dir", context => AnswerJsonAsync(context, 200, authority.DirectoryObject.ToJsonString()));
        authority.On("/nonce", static _ => Task.CompletedTask);
        return authority;
    }

    public Uri UrlOf(string path) => new(Origin + path);

    /// <summary>Answers a path so from now on. A nonce is added, if the answer has none.</summary>
    public void On(string path, RequestDelegate answer) => _answers[path] = answer;

    /// <summary>Answers a path with JSON; <c>ORIGIN</c> in it is replaced.</summary>
    public void On(string path, int status, string json, params (string Name, string Value)[] fields) =>
        On(path, context =>
        {
            foreach ((string name, string value) in fields)
            {
                context.Response.Headers[name] = value.Replace("ORIGIN", Origin, StringComparison.Ordinal);
            }

            return AnswerJsonAsync(context, status, json.Replace("ORIGIN", Origin, StringComparison.Ordinal));
        });

    /// <summary>How often a path was requested.</summary>
    public int CountOf(string path) => Requests.Count(request => request.Path == path);

    public static Task AnswerJsonAsync(HttpContext context, int status, string json)
    {
        context.Response.StatusCode = status;
        context.Response.ContentType = status < 400 ? "application/json" : "application/problem+json";
        return context.Response.WriteAsync(json);
    }

    /// <summary>What a test answers with for a nonce that it does not like.</summary>
    public static Task AnswerBadNonceAsync(HttpContext context) =>
        AnswerJsonAsync(context, 400, """{"type":"urn:ietf:params:acme:error:badNonce","detail":"That nonce is stale."}""");

    /// <summary>A nonce that a client may use.</summary>
    public string NewNonce()
    {
        string nonce = "nonce-" + Interlocked.Increment(ref _nonceCount).ToString(CultureInfo.InvariantCulture);
        _nonces[nonce] = true;
        return nonce;
    }

    public ValueTask DisposeAsync() => _server!.DisposeAsync();

    private async Task AnswerAsync(HttpContext context)
    {
        ScriptedRequest request = await ScriptedRequest.ReadAsync(context.Request);
        Requests.Enqueue(request);
        context.Items[typeof(ScriptedRequest)] = request;
        context.Response.OnStarting(() =>
        {
            context.Response.Headers.TryAdd("Replay-Nonce", NewNonce());
            return Task.CompletedTask;
        });
        if (request.Method == "POST" && FaultOf(request) is { } fault)
        {
            Faults.Enqueue($"{request.Path}: {fault}");
            await AnswerJsonAsync(context, 418, new JsonObject { ["type"] = "about:blank", ["detail"] = fault }.ToJsonString());
        }
        else if (_answers.TryGetValue(request.Path, out RequestDelegate? answer))
        {
            await answer(context);
        }
        else
        {
            context.Response.StatusCode = 404;
        }
    }

    /// <summary>Null for a request that is signed as it has to be.</summary>
    private string? FaultOf(ScriptedRequest request)
    {
        JsonObject? header = request.Header;
        if (request.ContentType != "application/jose+json" || header is null)
        {
            return $"not a JWS, but {request.ContentType}";
        }

        if ((string?)header["url"] != Origin + request.Path)
        {
            return $"signed for {header["url"]}";
        }

        if ((string?)header["alg"] != "ES256" || header.ContainsKey("kid") == header.ContainsKey("jwk"))
        {
            return "it needs ES256, and one of kid and jwk";
        }

        if (!_nonces.TryRemove((string?)header["nonce"] ?? "", out _))
        {
            return $"the nonce {header["nonce"]} was used before, or never given";
        }

        ECDsa key = header["jwk"] is JsonObject jwk ? KeyOf(jwk) : Key!;
        byte[] signed = Encoding.ASCII.GetBytes(request.SignedText);
        return key.VerifyData(signed, request.Signature, HashAlgorithmName.SHA256, DSASignatureFormat.IeeeP1363FixedFieldConcatenation)
            ? null
            : "the signature is wrong";
    }

    private static ECDsa KeyOf(JsonObject jwk) => ECDsa.Create(new ECParameters
    {
        Curve = ECCurve.NamedCurves.nistP256,
        Q = { X = Base64Url.DecodeFromChars((string)jwk["x"]!), Y = Base64Url.DecodeFromChars((string)jwk["y"]!) },
    });
}

/// <summary>A request as an authority received it.</summary>
internal sealed record ScriptedRequest(string Method, string Path, string? ContentType, string UserAgent)
{
    /// <summary>The protected header of a JWS; null for what is none.</summary>
    public JsonObject? Header { get; init; }

    /// <summary>Of a JWS; empty for POST-as-GET.</summary>
    public string Payload { get; init; } = "";

    public string SignedText { get; init; } = "";

    public byte[] Signature { get; init; } = [];

    public JsonObject Json => (JsonObject)JsonNode.Parse(Payload)!;

    /// <summary>What is answered.</summary>
    public static ScriptedRequest Of(HttpContext context) => (ScriptedRequest)context.Items[typeof(ScriptedRequest)]!;

    public static async Task<ScriptedRequest> ReadAsync(HttpRequest request)
    {
        using var reader = new StreamReader(request.Body);
        string body = await reader.ReadToEndAsync();
        var plain = new ScriptedRequest(request.Method, request.Path.Value!, request.ContentType, request.Headers.UserAgent.ToString());
        return body.Length == 0 || JsonNode.Parse(body) is not JsonObject jws
            ? plain
            : plain with
            {
                Header = (JsonObject)JsonNode.Parse(TextOf(jws["protected"]))!,
                Payload = TextOf(jws["payload"]),
                SignedText = $"{jws["protected"]}.{jws["payload"]}",
                Signature = Base64Url.DecodeFromChars((string)jws["signature"]!),
            };
    }

    private static string TextOf(JsonNode? base64) => Encoding.UTF8.GetString(Base64Url.DecodeFromChars((string)base64!));
}
