using System.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.Web.Heads;

namespace Millrace.Server.Admin;

/// <summary>
/// HTTP/1.1 on one connection to the admin listener: GET and HEAD, one after the other. A request with a body is answered and the
/// connection ended, as nobody here wants one.
/// </summary>
internal sealed class AdminSession(Connection connection, AdminPages pages, DateField date)
{
    /// <summary>Prometheus asks every 15 to 60 s.</summary>
    private static readonly TimeSpan IdleMost = TimeSpan.FromSeconds(75);

    private static readonly TimeSpan HeadMost = TimeSpan.FromSeconds(15);

    /// <summary>What no answer may be taken for: something to keep, another type, or a part of another's page.</summary>
    private static ReadOnlySpan<byte> SharedFields =>
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n"u8;

    private readonly RequestHead _head = new();

    public async Task RunAsync()
    {
        bool isWithinHead = false;
        while (true)
        {
            Next next = Answer();
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

    private Next Answer()
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
            Write(AdminAnswer.Text(status, "This is no request."), keepsAlive: false, includesBody: true);
            return Next.End;
        }

        bool keepsAlive = _head.KeepAlive
            && _head.Version == HttpVersion.Http11
            && _head.Body == BodyFraming.None
            && !connection.Reactor.IsDraining;
        Write(pages.Answer(_head, input), keepsAlive, includesBody: _head.Method != Method.Head);
        connection.Consume(result.Consumed);
        return keepsAlive ? Next.Continue : Next.End;
    }

    private void Write(AdminAnswer answer, bool keepsAlive, bool includesBody)
    {
        var writer = new ResponseHeadWriter(connection.GetSpan(1024 + answer.Fields.Length));
        writer.Status(answer.Status);
        writer.Lines(date.LineAt(connection.Reactor.NowMs));
        writer.Field("Content-Type"u8, Encoding.ASCII.GetBytes(answer.ContentType));
        writer.ContentLength(answer.Body.Length);
        writer.Lines(SharedFields);
        writer.Lines(answer.Fields);
        writer.Lines(keepsAlive ? default : "Connection: close\r\n"u8);
        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
        }

        connection.Advance(bytes);
        if (includesBody)
        {
            connection.Write(answer.Body);
        }
    }

    private enum Next
    {
        Read,
        Continue,
        End,
    }
}
