using System.Buffers.Text;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer;
using Millrace.HttpServer.Http1;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.Arena;

/// <summary>
/// Serves the board's HTTP/1.1 paths on one connection: answers all requests that the input holds, and sends their responses together. It
/// awaits input, files and slow clients. A malformed request is answered and ends the connection. Reactor thread only.
/// </summary>
internal sealed class ArenaSession(Connection connection, ReactorState state)
{
    private const int UnsentBytesMax = 128 * 1024;
    private const int HeadBytesMax = 256;
    private static readonly TimeSpan Idle = TimeSpan.FromSeconds(75);

    private readonly SessionReactorState _files = state.Files;
    private ResponseBody? _file;
    private PlanPreparation? _preparation;
    private BodyNumber _body;
    private Page _page;
    private long _sum;
    private int _multiplier;
    private bool _keepAlive = true;
    private int _scanned;

    public async Task RunAsync()
    {
        while (true)
        {
            switch (AnswerBuffered())
            {
                case Next.Read:
                    connection.Flush();
                    if (await ReadAsync() != ReadOutcome.Data)
                    {
                        return;
                    }

                    break;
                case Next.DrainOutput:
                    if (await connection.FlushAsync(UnsentBytesMax / 2) == FlushOutcome.Closed)
                    {
                        return;
                    }

                    break;
                case Next.Prepare:
                    connection.Flush();
                    await _preparation!.CompleteAsync();
                    await connection.Reactor.SwitchTo();
                    break;
                case Next.SendFile:
                    if (!await _file!.SendAsync() || !_keepAlive)
                    {
                        return;
                    }

                    break;
                default:
                    return;
            }
        }
    }

    private ValueTask<ReadOutcome> ReadAsync()
    {
        connection.SetReadDeadline(Idle);
        return connection.Input.IsEmpty && !_body.IsPending ? connection.ReadIdleAsync() : connection.ReadAsync();
    }

    private Next AnswerBuffered()
    {
        Next next;
        do
        {
            next = connection.UnsentBytes > UnsentBytesMax ? Next.DrainOutput
                : _body.IsPending ? TakeBody()
                : connection.Input.IsEmpty ? Next.Read
                : TakeHead();
        }
        while (next == Next.Continue);
        return next;
    }

    private Next TakeHead()
    {
        ReadOnlySpan<byte> input = connection.Input;
        RequestHead head = _files.Head;
        HeadResult result = RequestHeadParser.MayBeDecided(input, _scanned, _files.HeadLimits)
            ? RequestHeadParser.Parse(input, head, _files.HeadLimits)
            : HeadResult.Incomplete;
        if (result.IsIncomplete)
        {
            _scanned = input.Length;
            return Next.Read;
        }

        _scanned = 0;
        if (result.IsRefused)
        {
            return Refuse(HeadRefusals.StatusOf(result.Refusal));
        }

        _keepAlive = head.KeepAlive;
        ReadOnlySpan<byte> bytes = input[..result.Consumed];
        ReadOnlySpan<byte> path = head.Target.Path.In(bytes);
        if (path.StartsWith("/static/"u8) && head.Body == BodyFraming.None)
        {
            return AnswerFile(head, bytes);
        }

        ReadOnlySpan<byte> query = head.Target.Query.In(bytes);
        _page = PageOf(head.Method, path);
        _sum = _page == Page.Json && Utf8Parser.TryParse(path["/json/".Length..], out int count, out _) ? count
            : QueryNumbers.Find(query, "a="u8, 0) + (long)QueryNumbers.Find(query, "b="u8, 0);
        _multiplier = QueryNumbers.Find(query, "m="u8, 1);
        _body = BodyNumber.Of(head);
        if (head.ExpectContinue)
        {
            connection.Write("HTTP/1.1 100 Continue\r\n\r\n"u8);
        }

        connection.Consume(result.Consumed);
        return _body.IsPending ? Next.Continue : Answer();
    }

    private Next TakeBody()
    {
        ChunkedStatus status = _body.Take(connection.Input, out int consumed);
        connection.Consume(consumed);
        return status switch
        {
            ChunkedStatus.Done => Answer(),
            ChunkedStatus.NeedsMore => Next.Read,
            _ => Refuse(400),
        };
    }

    /// <summary>Begins a response of the site; a body that is not sent at once is pending in <see cref="_file"/>.</summary>
    private Next AnswerFile(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        _preparation = _files.Planner.Plan(connection, head, bytes, _preparation, out SiteBinding binding, out ResponsePlan plan);
        if (_preparation is not null)
        {
            return Next.Prepare;
        }

        _file ??= new ResponseBody(connection, _files);
        var response = new ResponseWriter(connection, _files, _file, head, bytes, _keepAlive, alternative: null, exchange: null);
        response.Begin(plan, binding);
        connection.Consume(bytes.Length);
        return _file.IsPending ? Next.SendFile : _keepAlive ? Next.Continue : Next.End;
    }

    private Next Answer()
    {
        switch (_page)
        {
            case Page.Sum:
                Span<byte> digits = stackalloc byte[24];
                Utf8Formatter.TryFormat(_sum + _body.Value, digits, out int written);
                Write(200, "text/plain"u8, digits[..written]);
                break;
            case Page.Pipeline:
                Write(200, "text/plain"u8, "ok"u8);
                break;
            case Page.Json:
                Write(200, "application/json"u8, state.Json.Write((int)_sum, _multiplier));
                break;
            default:
                Write(404, "text/plain"u8, "not found"u8);
                break;
        }

        return _keepAlive ? Next.Continue : Next.End;
    }

    private Next Refuse(int status)
    {
        _keepAlive = false;
        Write(status, "text/plain"u8, default);
        return Next.End;
    }

    private void Write(int status, ReadOnlySpan<byte> type, ReadOnlySpan<byte> body)
    {
        Span<byte> room = connection.GetSpan(HeadBytesMax);
        var writer = new ResponseHeadWriter(room);
        writer.Status(status);
        writer.Field("Content-Type"u8, type);
        writer.ContentLength(body.Length);
        connection.Advance(ResponseWriter.Finish(ref writer, _files, _keepAlive ? default : ResponseWriter.CloseLine));
        connection.Write(body);
    }

    private static Page PageOf(Method method, ReadOnlySpan<byte> path)
    {
        if (method is not (Method.Get or Method.Post))
        {
            return Page.None;
        }

        return path.SequenceEqual("/baseline11"u8) ? Page.Sum
            : path.SequenceEqual("/pipeline"u8) ? Page.Pipeline
            : path.StartsWith("/json/"u8) ? Page.Json
            : Page.None;
    }

    private enum Page : byte
    {
        None,
        Sum,
        Pipeline,
        Json,
    }

    private enum Next : byte
    {
        Continue,
        Read,
        DrainOutput,
        Prepare,
        SendFile,
        End,
    }
}
