using System.Net;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.Server.AccessLog;
using HttpExchange = Millrace.HttpServer.Exchanges.HttpExchange;

namespace Millrace.Server.Tests.AccessLog;

/// <summary>Exchanges without a connection, and the lines they become.</summary>
internal static class MadeExchange
{
    public static HttpExchange Of(byte[] head, int status = 200, int bodyBytes = 0, string peer = "192.0.2.1:1234")
    {
        var exchange = new HttpExchange();
        exchange.Begin(peer.Length == 0 ? null : IPEndPoint.Parse(peer));
        var parsed = new RequestHead();
        HeadResult result = RequestHeadParser.Parse(head, parsed, HeadLimits.Default);
        if (result.IsComplete)
        {
            exchange.Protocol = parsed.Version;
            exchange.Take(parsed, head, isRefused: false);
        }
        else
        {
            exchange.Take(parsed, head, isRefused: true);
        }

        exchange.SetResponse(status, bodyBytes > 0 ? ResponseBodySource.Text : ResponseBodySource.None);
        exchange.AddBody(bodyBytes, bodyBytes);
        exchange.End(bodyBytes, ResponseEnd.Whole);
        exchange.Complete(bodyBytes);
        return exchange;
    }

    public static string LineOf(AccessLogFormat format, HttpExchange exchange)
    {
        var line = new LineBuffer();
        new LineFormat(format).Write(line, exchange, (exchange.Peer as IPEndPoint)?.Address);
        return Encoding.Latin1.GetString(line.Bytes);
    }

    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);
}
