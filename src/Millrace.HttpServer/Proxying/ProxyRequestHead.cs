using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Upstreams;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// Makes the head that an upstream gets of a client's, in HTTP/1.1 whatever the client speaks. One per reactor; a request refers to its
/// memory until the next is made. Reactor thread only.
/// </summary>
internal sealed class ProxyRequestHead
{
    private readonly LineBuffer _line = new();
    private readonly LineBuffer _fields = new();

    /// <summary>
    /// Makes the request for an upstream. False if the client's head cannot be passed on, which is answered with 400.
    /// </summary>
    /// <param name="head">The client's request; its path was matched by the rule.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    /// <param name="plan">The plan that sends it on.</param>
    /// <param name="client">What the fields for the upstream say about the client.</param>
    /// <param name="received">The version that the client speaks: heads of HTTP/2 and HTTP/3 are in the form of HTTP/1.1.</param>
    /// <param name="webSocketKey">The Sec-WebSocket-Key that replaces the client's, which HTTP/2 does not have; otherwise empty.</param>
    /// <param name="hasBody">Whether a body follows: over HTTP/2 the head alone does not say.</param>
    /// <param name="isHeld">Whether that is not known yet; then nothing is sent before it is.</param>
    /// <param name="request">Valid until the next call.</param>
    public bool TryMake(
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        scoped in ResponsePlan plan,
        ForwardedClient client,
        HttpVersion received,
        scoped ReadOnlySpan<byte> webSocketKey,
        bool hasBody,
        bool isHeld,
        out UpstreamRequest request)
    {
        request = default;
        ProxyRule rule = plan.Proxy!;
        var hopByHop = HopByHopFields.Of(head.Fields, bytes);
        if (hopByHop.IsTooLong)
        {
            return false;
        }

        BodyFraming framing = !hasBody ? BodyFraming.None : head.Body == BodyFraming.Length ? BodyFraming.Length : BodyFraming.Chunked;
        bool isUpgrade = hopByHop.HasUpgrade && !hasBody && head.Method == Method.Get && AsksForWebSocket(head, bytes);
        WriteLine(head, bytes, plan.ProxyTarget);
        _fields.Clear();
        WriteEndToEnd(head, bytes, hopByHop, plan, client, skipsKey: !webSocketKey.IsEmpty);
        if (rule.SendsVia)
        {
            _fields.Field(ViaField.Name, ViaField.Value(received));
        }

        _fields.Write(plan.ReplacingLines);
        WriteConnection(isUpgrade, AcceptsTrailers(head, bytes));
        if (isUpgrade && !webSocketKey.IsEmpty)
        {
            _fields.Field("Sec-WebSocket-Key"u8, webSocketKey);
        }

        WriteFraming(head, bytes, framing);
        client.Write(_fields, rule.Forwarded, head, bytes);
        request = new UpstreamRequest
        {
            Line = _line.Bytes,
            Host = rule.ReplacesHost ? default : head.Authority.In(bytes),
            Fields = _fields.Bytes,
            Method = head.Method,
            Body = framing,
            BodyBytes = head.ContentLength,
            IsUpgrade = isUpgrade,
            IsHeld = isHeld,
        };
        return true;
    }

    /// <summary>
    /// Makes the request that asks a service whether a client's request may pass: a GET with the client's fields, and fields that say what
    /// the client asks for. False if the client's head cannot be passed on.
    /// </summary>
    /// <param name="head">The client's request.</param>
    /// <param name="bytes">What the head was parsed from.</param>
    /// <param name="rule">The rule that names the service.</param>
    /// <param name="target">The client's target in the form that rules match.</param>
    /// <param name="client">What the fields for the service say about the client.</param>
    /// <param name="request">Valid until the next call.</param>
    public bool TryMakeCheck(
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        ForwardAuthRule rule,
        scoped ReadOnlySpan<byte> target,
        ForwardedClient client,
        out UpstreamRequest request)
    {
        request = default;
        var hopByHop = HopByHopFields.Of(head.Fields, bytes);
        if (hopByHop.IsTooLong)
        {
            return false;
        }

        _line.Clear();
        _line.Write("GET "u8);
        _line.Write(Encoding.ASCII.GetBytes(rule.TargetPath));
        _line.Write(" HTTP/1.1\r\n"u8);
        _fields.Clear();
        foreach (ref readonly FieldLine line in head.Fields)
        {
            ReadOnlySpan<byte> name = line.NameText.In(bytes);
            bool isSkipped = IsAboutContent(line.Name)
                || IsOriginalTarget(name)
                || (ForwardedClient.IsClaim(name) && !client.Keeps(name, ForwardedFields.XForwarded))
                || hopByHop.Contains(name);
            if (!isSkipped)
            {
                _fields.Field(name, line.Value.In(bytes));
            }
        }

        client.Write(_fields, ForwardedFields.XForwarded, head, bytes);
        _fields.Field("X-Forwarded-Method"u8, head.MethodText.In(bytes));
        _fields.Field("X-Forwarded-Uri"u8, target);
        request = new UpstreamRequest
        {
            Line = _line.Bytes,
            Host = default,
            Fields = _fields.Bytes,
            Method = Method.Get,
            Body = BodyFraming.None,
        };
        return true;
    }

    /// <summary>
    /// The trailer lines that may pass; valid until the next call. An application that merges them into the head must not find fields there
    /// that a service sets.
    /// </summary>
    public ReadOnlySpan<byte> Trailers(ReadOnlySpan<byte> lines, IReadOnlyList<byte[]> replacedNames)
    {
        _fields.Clear();
        var trailers = new TrailerLines(lines);
        while (trailers.MoveNext())
        {
            if (!CopiedFieldNames.Contains(replacedNames, trailers.Name))
            {
                _fields.Field(trailers.Name, trailers.Value);
            }
        }

        return _fields.Bytes;
    }

    /// <summary>Fields about the request's content, and those that would have the service answer with less than its response.</summary>
    private static bool IsAboutContent(FieldName name) => name is FieldName.Host or FieldName.ContentLength or FieldName.Expect
        or FieldName.Range or FieldName.IfRange or FieldName.IfMatch or FieldName.IfNoneMatch or FieldName.IfModifiedSince
        or FieldName.IfUnmodifiedSince;

    /// <summary>Fields by which proxies tell services what is asked for. Those that a client sends would deceive.</summary>
    private static bool IsOriginalTarget(ReadOnlySpan<byte> name) =>
        CopiedFieldNames.AreEqual("x-forwarded-method"u8, name) || CopiedFieldNames.AreEqual("x-forwarded-uri"u8, name)
        || CopiedFieldNames.AreEqual("x-original-method"u8, name) || CopiedFieldNames.AreEqual("x-original-uri"u8, name)
        || CopiedFieldNames.AreEqual("x-original-url"u8, name) || CopiedFieldNames.AreEqual("x-rewrite-url"u8, name);

    /// <summary>
    /// Whether a request asks for a WebSocket, the only protocol that is switched to: through a connection that speaks HTTP/2 with the
    /// upstream, requests would pass that no rule has seen.
    /// </summary>
    private static bool AsksForWebSocket(RequestHead head, ReadOnlySpan<byte> bytes) =>
        head.Fields.TryFind(bytes, "upgrade"u8, out ReadOnlySpan<byte> protocol) && Words.EqualsIgnoreCase(protocol, "websocket"u8);

    private static bool AcceptsTrailers(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (!head.Fields.TryFind(bytes, "te"u8, out ReadOnlySpan<byte> codings))
        {
            return false;
        }

        foreach (ReadOnlySpan<byte> coding in new ElementList(codings))
        {
            if (Words.EqualsIgnoreCase(coding, "trailers"u8))
            {
                return true;
            }
        }

        return false;
    }

    private void WriteLine(RequestHead head, ReadOnlySpan<byte> bytes, scoped ReadOnlySpan<byte> target)
    {
        _line.Clear();
        _line.Write(head.MethodText.In(bytes));
        _line.Write(" "u8);
        if (!target.IsEmpty)
        {
            _line.Write(target);
        }
        else if (head.Target.Form != TargetForm.Absolute)
        {
            _line.Write(head.Target.Text.In(bytes));
        }
        else
        {
            // An absolute form becomes the origin form; one without a path means "/", or "*" for OPTIONS (RFC 9112, section 3.2.4).
            ReadOnlySpan<byte> path = head.Target.Path.In(bytes);
            ReadOnlySpan<byte> query = head.Target.Query.In(bytes);
            _line.Write(!path.IsEmpty ? path : head.Method == Method.Options && query.IsEmpty ? "*"u8 : "/"u8);
            _line.Write(query);
        }

        _line.Write(" HTTP/1.1\r\n"u8);
    }

    private void WriteEndToEnd(
        RequestHead head,
        ReadOnlySpan<byte> bytes,
        scoped in HopByHopFields hopByHop,
        scoped in ResponsePlan plan,
        ForwardedClient client,
        bool skipsKey)
    {
        ProxyRule rule = plan.Proxy!;
        foreach (ref readonly FieldLine line in head.Fields)
        {
            ReadOnlySpan<byte> name = line.NameText.In(bytes);
            bool isSkipped = line.Name is FieldName.Host or FieldName.ContentLength
                || (line.Name == FieldName.Expect && !head.ExpectContinue)
                || (ForwardedClient.IsClaim(name) && !client.Keeps(name, rule.Forwarded))
                || (skipsKey && Words.EqualsIgnoreCase(name, "sec-websocket-key"u8))
                || CopiedFieldNames.Contains(plan.ReplacedNames, name)
                || hopByHop.Contains(name);
            if (!isSkipped)
            {
                _fields.Field(name, line.Value.In(bytes));
            }
        }
    }

    private void WriteConnection(bool isUpgrade, bool acceptsTrailers)
    {
        if (isUpgrade)
        {
            _fields.Write("Upgrade: websocket\r\n"u8);
        }

        if (acceptsTrailers)
        {
            _fields.Write("TE: trailers\r\n"u8);
        }

        _fields.Write((isUpgrade, acceptsTrailers) switch
        {
            (true, true) => "Connection: Upgrade, TE\r\n"u8,
            (true, false) => "Connection: Upgrade\r\n"u8,
            (false, true) => "Connection: TE\r\n"u8,
            _ => default,
        });
    }

    private void WriteFraming(RequestHead head, ReadOnlySpan<byte> bytes, BodyFraming framing)
    {
        if (framing == BodyFraming.Chunked)
        {
            _fields.Write("Transfer-Encoding: chunked\r\n"u8);
        }
        else if (head.TryGet(FieldName.ContentLength, out TextRange length)
            && (framing == BodyFraming.Length || head.ContentLength == 0))
        {
            // Of an empty body, too: without it some servers answer 411. But not where no body follows, as of an extended CONNECT: the
            // upstream would take the next request on its connection for the body.
            _fields.Field("Content-Length"u8, length.In(bytes));
        }
    }
}
