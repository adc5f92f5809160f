using System.Buffers;
using System.Globalization;
using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.Web.Exchanges;

namespace Millrace.Web.Http1;

/// <summary>
/// A connection over plain HTTP to a server that wants HTTPS: its first request is answered with the same address there (308, which keeps
/// the method), and it ends, as the next one should not come this way. What a certificate authority asks for is answered here: it asks port
/// 80, and where HTTPS is spoken at another port than 443, or with the certificate that it is to replace, it may not follow.
/// </summary>
internal static class RedirectSession
{
    private const int HttpsPort = 443;

    /// <summary>Status line, Date, Connection, Content-Length and the name of Location.</summary>
    private const int OwnBytesMax = 256;

    /// <summary>Of base64url, so that no path leads from there to what is elsewhere.</summary>
    private static readonly SearchValues<byte> TokenBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"u8);

    /// <summary>What is asked for as HTTP-01 has it (RFC 8555, section 8.3), before its token.</summary>
    private static ReadOnlySpan<byte> ChallengePath => "/.well-known/acme-challenge/"u8;

    private static ReadOnlySpan<byte> ConnectionLine => "Connection: close\r\n"u8;

    /// <param name="connection">The connection.</param>
    /// <param name="bench">Its reactor's.</param>
    /// <param name="port">Where HTTPS is spoken.</param>
    public static async Task RunAsync(Connection connection, Workbench bench, int port)
    {
        connection.SetReadRate(bench.Limits.ReceiveBytesPerSecond, bench.Limits.ReceiveStall, bench.Limits.Head);
        Exchange? exchange = bench.Ledger?.Begin(connection);
        HeadResult result;
        while ((result = RequestHeadParser.Parse(connection.Input, bench.Head, bench.HeadLimits)).IsIncomplete)
        {
            ReadOutcome outcome = await connection.ReadAsync();
            if (outcome == ReadOutcome.TimedOut && !connection.Input.IsEmpty)
            {
                // Others have used the head since this one was read into it.
                result = RequestHeadParser.Parse(connection.Input, bench.Head, bench.HeadLimits);
                break;
            }

            if (outcome != ReadOutcome.Data)
            {
                return;
            }
        }

        if (result.IsComplete && IsChallenge(bench.Head.Target.Path.In(connection.Input)))
        {
            await new Http1Session(connection, bench, exchange) { EndsAfterOne = true }.RunAsync();
            return;
        }

        bench.Ledger?.Take(connection, exchange!, bench.Head, result);
        if (result.IsIncomplete)
        {
            Refuse(connection, bench, 408, includesBody: true, exchange);
        }
        else if (result.IsRefused)
        {
            Refuse(connection, bench, HeadRefusals.StatusOf(result.Refusal), includesBody: bench.Head.Method != Method.Head, exchange);
        }
        else if (HostOf(bench.Head, connection.Input).IsEmpty)
        {
            // HTTP/1.0 without Host, or a port alone: there is no address to send it to, and a client would take the path for one (RFC
            // 9110, section 4.2.2).
            Refuse(connection, bench, 400, includesBody: bench.Head.Method != Method.Head, exchange);
        }
        else
        {
            Redirect(connection, bench, LocationOf(bench.Head, connection.Input, port), exchange);
        }

        ExchangeLedger.End(connection, ref exchange);
    }

    private static bool IsChallenge(ReadOnlySpan<byte> path) =>
        path.StartsWith(ChallengePath)
        && path.Length > ChallengePath.Length
        && !path[ChallengePath.Length..].ContainsAnyExcept(TokenBytes);

    private static byte[] LocationOf(RequestHead head, ReadOnlySpan<byte> bytes, int port)
    {
        string portText = port == HttpsPort ? "" : string.Create(CultureInfo.InvariantCulture, $":{port}");
        ReadOnlySpan<byte> path = head.Target.Path.Length == 0 ? "/"u8 : head.Target.Path.In(bytes);
        return [.. "https://"u8, .. HostOf(head, bytes), .. Encoding.ASCII.GetBytes(portText), .. path, .. head.Target.Query.In(bytes)];
    }

    /// <summary>The authority without its port.</summary>
    private static ReadOnlySpan<byte> HostOf(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> authority = head.Authority.In(bytes);

        // "[::1]:80": the colons of an address are within brackets.
        int colon = authority.LastIndexOf((byte)':');
        return colon > authority.LastIndexOf((byte)']') ? authority[..colon] : authority;
    }

    private static void Refuse(Connection connection, Workbench bench, int status, bool includesBody, Exchange? exchange) =>
        PlainAnswer.Write(connection, status, bench.DateLine, ConnectionLine, includesBody, exchange);

    private static void Redirect(Connection connection, Workbench bench, ReadOnlySpan<byte> location, Exchange? exchange)
    {
        const int Status = 308;
        var writer = new ResponseHeadWriter(connection.GetSpan(OwnBytesMax + location.Length));
        writer.Status(Status);
        writer.Lines(bench.DateLine);
        writer.Lines(ConnectionLine);
        writer.Field("Location"u8, location);
        writer.ContentLength(0);
        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
        }

        exchange?.Answer(Status, ExchangeBody.None);
        connection.Advance(bytes);
        exchange?.BeginBody(connection.WrittenBytes);
    }
}
