using System.Net;
using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.AccessLog.Formats;

/// <summary>
/// The common log format of the NCSA server, and Apache's combined format:
/// <c>client - - [time] "request line" status bytes "referer" "user agent"</c>.
/// </summary>
internal sealed class NcsaFormat(bool isCombined) : ILineFormat
{
    private readonly LineTime _time = new();

    public void Write(LineBuffer line, HttpExchange exchange, IPAddress? client)
    {
        if (client is null)
        {
            line.Add((byte)'-');
        }
        else
        {
            line.AddFormatted(client, LineFormats.AddressBytesMax);
        }

        line.Add(" - - ["u8);
        line.Add(_time.At(exchange.StartedAt));
        line.Add("] \""u8);
        AddRequestLine(line, exchange);
        line.Add("\" "u8);
        line.AddNumber(LineFormats.StatusOf(exchange));
        line.Add((byte)' ');
        line.AddNumber(exchange.BodyBytes);
        if (isCombined)
        {
            AddQuoted(line, exchange.Referer);
            AddQuoted(line, exchange.UserAgent);
        }
    }

    private static void AddRequestLine(LineBuffer line, HttpExchange exchange)
    {
        if (exchange.Method.IsEmpty)
        {
            LineText.AddNcsa(line, exchange.MalformedLine);
            return;
        }

        LineText.AddNcsa(line, exchange.Method);
        line.Add((byte)' ');
        LineText.AddNcsa(line, exchange.Target);
        line.Add((byte)' ');
        line.Add(ExchangeProtocols.NameOf(exchange.Protocol));
    }

    private static void AddQuoted(LineBuffer line, ReadOnlySpan<byte> text)
    {
        line.Add(" \""u8);
        LineText.AddNcsa(line, text.IsEmpty ? "-"u8 : text);
        line.Add((byte)'"');
    }
}
