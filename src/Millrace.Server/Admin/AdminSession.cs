using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Heads;

namespace Millrace.Server.Admin;

/// <summary>
/// HTTP/1.1 on one admin connection: sequential GET and HEAD. A request with a body gets a response and ends the connection, as no page
/// takes a body.
/// </summary>
internal sealed class AdminSession(Connection connection, AdminPages pages, DateField date)
{
    /// <summary>Prometheus scrapes every 15 to 60 s.</summary>
    private static readonly TimeSpan IdleMost = TimeSpan.FromSeconds(75);

    private static readonly TimeSpan HeadMost = TimeSpan.FromSeconds(15);

    /// <summary>Forbids storing a response, guessing its type, and embedding it in another origin's page.</summary>
    private static ReadOnlySpan<byte> SharedFields =>
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"u8;

    private readonly RequestHead _head = new();

    public async Task RunAsync()
    {
        bool isWithinHead = false;
        while (true)
        {
            Next next = Response();
            if (next == Next.End)
            {
                return;
            }

            if (next == Next.Continue)
            {
                isWithinHead = false;
                if (await connection.FlushAsync() == FlushOutcome.Closed)
                {
                    return;
                }

                continue;
            }

            bool isIdle = connection.Input.IsEmpty;
            if (isIdle || !isWithinHead)
            {
                connection.SetReadDeadline(isIdle ? IdleMost : HeadMost);
            }

            isWithinHead = !isIdle;
            if (await (isIdle ? connection.ReadIdleAsync() : connection.ReadAsync()) != ReadOutcome.Data)
            {
                return;
            }
        }
    }

    private Next Response()
    {
        ReadOnlySpan<byte> input = connection.Input;
        if (input.IsEmpty)
        {
            return Next.Read;
        }

        HeadResult result = RequestHeadParser.Parse(input, _head, HeadLimits.Default);
        if (result.IsIncomplete)
        {
            return Next.Read;
        }

        if (result.IsRefused)
        {
            int status = HeadRefusals.StatusOf(result.Refusal);
            Write(AdminResponse.Text(status, "Malformed request."), keepsAlive: false, includesBody: true);
            return Next.End;
        }

        bool keepsAlive = _head.KeepAlive
            && _head.Version == HttpVersion.Http11
            && _head.Body == BodyFraming.None
            && !connection.Reactor.IsDraining;
        Write(pages.Response(_head, input), keepsAlive, includesBody: _head.Method != Method.Head);
        connection.Consume(result.Consumed);
        return keepsAlive ? Next.Continue : Next.End;
    }

    private void Write(AdminResponse response, bool keepsAlive, bool includesBody)
    {
        var writer = new ResponseHeadWriter(connection.GetSpan(1024 + response.Fields.Length));
        writer.Status(response.Status);
        writer.Lines(date.LineAt(connection.Reactor.NowMs));
        writer.Field("Content-Type"u8, Encoding.ASCII.GetBytes(response.ContentType));
        writer.ContentLength(response.Body.Length);
        writer.Lines(SharedFields);
        writer.Lines(response.Fields);
        writer.Lines(keepsAlive ? default : "Connection: close\r\n"u8);
        connection.Advance(writer.Finish());
        if (includesBody)
        {
            connection.Write(response.Body);
        }
    }

    private enum Next
    {
        Read,
        Continue,
        End,
    }
}
