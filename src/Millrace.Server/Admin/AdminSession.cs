using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Http1;

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
        HeadResult result;
        do
        {
            connection.SetReadDeadline(IdleMost);
            if (connection.Input.IsEmpty && await connection.ReadIdleAsync() != ReadOutcome.Data)
            {
                return;
            }

            connection.SetReadDeadline(HeadMost);
            (result, _) = await SingleRequest.ReadAsync(connection, _head, HeadLimits.Default);
        }
        while (!result.IsIncomplete && Respond(result) && await connection.FlushAsync() != FlushOutcome.Closed);
    }

    /// <summary>Writes the response; true if another request may follow.</summary>
    private bool Respond(HeadResult result)
    {
        if (result.IsRefused)
        {
            int status = HeadRefusals.StatusOf(result.Refusal);
            Write(AdminResponse.Text(status, "Malformed request."), keepsAlive: false, includesBody: true);
            return false;
        }

        bool keepsAlive = _head.KeepAlive
            && _head.Version == HttpVersion.Http11
            && _head.Body == BodyFraming.None
            && !connection.Reactor.IsDraining;
        Write(pages.Response(_head, connection.Input), keepsAlive, includesBody: _head.Method != Method.Head);
        connection.Consume(result.Consumed);
        return keepsAlive;
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
}
