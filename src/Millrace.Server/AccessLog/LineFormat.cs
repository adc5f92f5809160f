using System.Net;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.QuicTransport;
using Millrace.Tls;
using Millrace.Tls.Quic;

namespace Millrace.Server.AccessLog;

/// <summary>Writes exchanges as lines, without line feeds. Not thread-safe.</summary>
internal sealed class LineFormat(AccessLogFormat format)
{
    /// <summary>The longest text of an IPv6 address with its scope.</summary>
    private const int AddressBytesMax = 65;

    /// <summary>As in nginx: the client disconnected before the response.</summary>
    private const int ClientClosed = 499;

    /// <summary>2026-11-22T02:00:00.0000000Z, cut to milliseconds.</summary>
    private const int TimeBytes = 23;

    private const int LocalTimeBytes = 20;

    private const int MicrosecondsPerMillisecond = 1_000;

    /// <summary>The local time of a second, for NCSA formats: formatted once per second.</summary>
    private readonly LineBuffer _time = new();
    private long _timeSecond = -1;

    public void Write(LineBuffer line, HttpExchange exchange, IPAddress? client)
    {
        if (format == AccessLogFormat.Json)
        {
            WriteJson(line, exchange, client);
        }
        else
        {
            WriteNcsa(line, exchange, client);
        }
    }

    /// <summary>
    /// The common log format of the NCSA server, and Apache's combined format:
    /// <c>client - - [time] "request line" status bytes "referer" "user agent"</c>.
    /// </summary>
    private void WriteNcsa(LineBuffer line, HttpExchange exchange, IPAddress? client)
    {
        if (client is null)
        {
            line.Add((byte)'-');
        }
        else
        {
            line.AddFormatted(client, AddressBytesMax);
        }

        line.Add(" - - ["u8);
        line.Add(LocalTimeOf(exchange.StartedAt));
        line.Add("] \""u8);
        if (exchange.Method.IsEmpty)
        {
            line.AddNcsa(exchange.MalformedLine);
        }
        else
        {
            line.AddNcsa(exchange.Method);
            line.Add((byte)' ');
            line.AddNcsa(exchange.Target);
            line.Add((byte)' ');
            line.Add(HttpVersions.NameOf(exchange.Protocol));
        }

        line.Add("\" "u8);
        line.AddNumber(StatusOf(exchange));
        line.Add((byte)' ');
        line.AddNumber(exchange.BodyBytes);
        if (format == AccessLogFormat.Combined)
        {
            AddQuoted(line, exchange.Referer);
            AddQuoted(line, exchange.UserAgent);
        }
    }

    /// <summary>
    /// One JSON object per line (RFC 8259), with the same members each time, except <c>peer</c>, <c>malformed</c> and <c>upstream</c>; null
    /// for missing values.
    /// </summary>
    private static void WriteJson(LineBuffer line, HttpExchange exchange, IPAddress? client)
    {
        line.Add("{\"time\":\""u8);
        AddUtc(line, exchange.StartedAt);
        line.Add("\",\"client\":"u8);
        AddAddress(line, client);
        if (exchange.Peer is IPEndPoint peer && client is not null && !peer.Address.Equals(client))
        {
            line.Add(",\"peer\":"u8);
            AddAddress(line, peer.Address);
        }

        AddText(line, ",\"method\":"u8, exchange.Method);
        AddText(line, ",\"target\":"u8, exchange.Target);
        if (!exchange.MalformedLine.IsEmpty)
        {
            AddText(line, ",\"malformed\":"u8, exchange.MalformedLine);
        }

        AddText(line, ",\"protocol\":"u8, HttpVersions.NameOf(exchange.Protocol));
        AddText(line, ",\"host\":"u8, exchange.Host);
        line.Add(",\"status\":"u8);
        line.AddNumber(StatusOf(exchange));
        line.Add(",\"bytes\":"u8);
        line.AddNumber(exchange.BodyBytes);
        line.Add(exchange.IsWhole ? ",\"complete\":true"u8 : ",\"complete\":false"u8);
        line.Add(",\"duration_ms\":"u8);
        AddMilliseconds(line, exchange.Elapsed);
        AddText(line, ",\"encoding\":"u8, ContentCodings.NameOf(exchange.Coding));
        AddText(line, ",\"body\":"u8, NameOf(exchange.Body));
        if (exchange.Upstream is not null)
        {
            AddUpstream(line, exchange.Upstream, exchange.UpstreamElapsed);
        }

        AddText(line, ",\"referer\":"u8, exchange.Referer);
        AddText(line, ",\"user_agent\":"u8, exchange.UserAgent);
        AddTls(line, ParametersOf(exchange.Connection));
        line.Add((byte)'}');
    }

    private static void AddUpstream(LineBuffer line, string address, TimeSpan elapsed)
    {
        Span<byte> bytes = stackalloc byte[256];
        _ = Encoding.UTF8.TryGetBytes(address, bytes, out int count);
        AddText(line, ",\"upstream\":"u8, bytes[..count]);
        line.Add(",\"upstream_ms\":"u8);
        AddMilliseconds(line, elapsed);
    }

    private static void AddMilliseconds(LineBuffer line, TimeSpan elapsed)
    {
        long microseconds = (long)elapsed.TotalMicroseconds;
        line.AddNumber(microseconds / MicrosecondsPerMillisecond);
        line.Add((byte)'.');
        line.AddNumber((int)(microseconds % MicrosecondsPerMillisecond), 3);
    }

    private static int StatusOf(HttpExchange exchange) => exchange.Status == HttpExchange.NoResponse ? ClientClosed : exchange.Status;

    private static ReadOnlySpan<byte> NameOf(ResponseBodySource body) => body switch
    {
        ResponseBodySource.None => "none"u8,
        ResponseBodySource.Text => "text"u8,
        ResponseBodySource.InMemory => "memory"u8,
        ResponseBodySource.SingleRead => "read"u8,
        ResponseBodySource.Upstream => "upstream"u8,
        _ => "streamed"u8,
    };

    /// <summary>The time in NCSA formats, in the local time zone: <c>10/Oct/2000:13:55:36 -0700</c>.</summary>
    private ReadOnlySpan<byte> LocalTimeOf(DateTime utc)
    {
        long second = utc.Ticks / TimeSpan.TicksPerSecond;
        if (second == _timeSecond)
        {
            return _time.Bytes;
        }

        _timeSecond = second;
        TimeSpan offset = TimeZoneInfo.Local.GetUtcOffset(utc);
        _time.Clear();
        _time.AddFormatted(utc + offset, LocalTimeBytes, "dd/MMM/yyyy:HH:mm:ss");
        _time.Add(offset < TimeSpan.Zero ? " -"u8 : " +"u8);
        int minutes = (int)Math.Abs(offset.TotalMinutes);
        _time.AddNumber(minutes / 60, 2);
        _time.AddNumber(minutes % 60, 2);
        return _time.Bytes;
    }

    private static void AddUtc(LineBuffer line, DateTime utc)
    {
        Span<byte> text = stackalloc byte[TimeBytes + 8];
        if (!System.Buffers.Text.Utf8Formatter.TryFormat(utc, text, out _, new('O')))
        {
            throw new InvalidOperationException("A formatted time is longer than expected.");
        }

        line.Add(text[..TimeBytes]);
        line.Add((byte)'Z');
    }

    private static void AddQuoted(LineBuffer line, ReadOnlySpan<byte> text)
    {
        line.Add(" \""u8);
        line.AddNcsa(text.IsEmpty ? "-"u8 : text);
        line.Add((byte)'"');
    }

    private static void AddAddress(LineBuffer line, IPAddress? address)
    {
        if (address is null)
        {
            line.Add("null"u8);
            return;
        }

        line.Add((byte)'"');
        line.AddFormatted(address, AddressBytesMax);
        line.Add((byte)'"');
    }

    private static TlsParameters? ParametersOf(IClientConnection? connection) => connection switch
    {
        Connection tcp => tcp.GetTlsParameters(),
        QuicServerConnection quic => (quic.Handshake as OpenSslQuicHandshake)?.Parameters,
        _ => null,
    };

    private static void AddTls(LineBuffer line, TlsParameters? agreed)
    {
        AddText(line, ",\"tls_version\":"u8, agreed is null ? default : agreed.VersionText);
        AddText(line, ",\"tls_cipher\":"u8, agreed is null ? default : agreed.CipherText);
        AddText(line, ",\"tls_group\":"u8, agreed is null ? default : agreed.GroupText);
    }

    private static void AddText(LineBuffer line, ReadOnlySpan<byte> member, ReadOnlySpan<byte> text)
    {
        line.Add(member);
        if (text.IsEmpty)
        {
            line.Add("null"u8);
            return;
        }

        line.Add((byte)'"');
        line.AddJson(text);
        line.Add((byte)'"');
    }
}
