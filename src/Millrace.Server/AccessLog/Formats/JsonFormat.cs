using System.Net;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>
/// One JSON object per line (RFC 8259), with the same members each time, except <c>peer</c> and <c>malformed</c>; null for missing values.
/// </summary>
internal sealed class JsonFormat : ILineFormat
{
    /// <summary>2026-11-22T02:00:00.0000000Z, cut to milliseconds.</summary>
    private const int TimeBytes = 23;

    private const int MicrosecondsPerMillisecond = 1_000;

    public void Write(LineBuffer line, HttpExchange exchange, IPAddress? client)
    {
        line.Add("{\"time\":\""u8);
        AddTime(line, exchange.StartedAt);
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

        AddName(line, ",\"protocol\":"u8, ExchangeProtocols.NameOf(exchange.Protocol));
        AddText(line, ",\"host\":"u8, exchange.Host);
        line.Add(",\"status\":"u8);
        line.AddNumber(LineFormats.StatusOf(exchange));
        line.Add(",\"bytes\":"u8);
        line.AddNumber(exchange.BodyBytes);
        line.Add(exchange.IsWhole ? ",\"complete\":true"u8 : ",\"complete\":false"u8);
        line.Add(",\"duration_ms\":"u8);
        AddDuration(line, exchange.Elapsed);
        AddName(line, ",\"encoding\":"u8, ContentCodings.NameOf(exchange.Coding));
        AddName(line, ",\"body\":"u8, NameOf(exchange.Body));
        AddText(line, ",\"referer\":"u8, exchange.Referer);
        AddText(line, ",\"user_agent\":"u8, exchange.UserAgent);
        line.Add((byte)'}');
    }

    private static ReadOnlySpan<byte> NameOf(ResponseBodySource body) => body switch
    {
        ResponseBodySource.None => "none"u8,
        ResponseBodySource.Text => "text"u8,
        ResponseBodySource.InMemory => "memory"u8,
        ResponseBodySource.SingleRead => "read"u8,
        _ => "streamed"u8,
    };

    private static void AddTime(LineBuffer line, DateTime utc)
    {
        Span<byte> text = stackalloc byte[TimeBytes + 8];
        if (!System.Buffers.Text.Utf8Formatter.TryFormat(utc, text, out _, new('O')))
        {
            throw new InvalidOperationException("A formatted time is longer than expected.");
        }

        line.Add(text[..TimeBytes]);
        line.Add((byte)'Z');
    }

    private static void AddDuration(LineBuffer line, TimeSpan elapsed)
    {
        long microseconds = (long)elapsed.TotalMicroseconds;
        line.AddNumber(microseconds / MicrosecondsPerMillisecond);
        line.Add((byte)'.');
        line.AddNumber((int)(microseconds % MicrosecondsPerMillisecond), 3);
    }

    private static void AddAddress(LineBuffer line, IPAddress? address)
    {
        if (address is null)
        {
            line.Add("null"u8);
            return;
        }

        line.Add((byte)'"');
        line.AddFormatted(address, LineFormats.AddressBytesMax);
        line.Add((byte)'"');
    }

    private static void AddName(LineBuffer line, ReadOnlySpan<byte> member, ReadOnlySpan<byte> name)
    {
        line.Add(member);
        line.Add((byte)'"');
        line.Add(name);
        line.Add((byte)'"');
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
        LineText.AddJson(line, text);
        line.Add((byte)'"');
    }
}
