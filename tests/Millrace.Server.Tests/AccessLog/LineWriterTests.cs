using System.Text;
using Microsoft.Extensions.Logging;
using Millrace.Interop;
using Millrace.Server.AccessLog;

namespace Millrace.Server.Tests.AccessLog;

public sealed class LineWriterTests : IDisposable
{
    private const int LineBytesMax = 1024;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly ScriptedSink _sink = new();
    private readonly NoticeLog _notices = new();
    private readonly LineRing _ring = new(4096);

    public void Dispose() => _sink.Dispose();

    [Fact]
    public void The_end_comes_when_all_is_written()
    {
        LineWriter writer = Start();
        for (int i = 0; i < 100; i++)
        {
            Add(writer, $"line {i}\n");
        }

        writer.Dispose();

        Assert.Equal(string.Concat(Enumerable.Range(0, 100).Select(static i => $"line {i}\n")), _sink.Text);
        Assert.True(_sink.IsDisposed);
        Assert.Empty(_notices.Lines);
    }

    [Fact]
    public void A_line_is_written_without_another_coming()
    {
        LineWriter writer = Start();
        Add(writer, "first\n");
        _sink.Await("first\n");
        Add(writer, "second\n");
        _sink.Await("first\nsecond\n");
        writer.Dispose();
    }

    [Fact]
    public void After_a_fault_it_goes_on_at_the_very_byte()
    {
        _sink.Script(3, -Errno.ENOSPC, -Errno.ENOSPC, int.MaxValue);
        LineWriter writer = Start();
        Add(writer, "one line\n");

        _sink.Await("one line\n");
        Add(writer, "another\n");
        writer.Dispose();

        Assert.Equal("one line\nanother\n", _sink.Text);
        Assert.Equal(2, writer.Faults);
        Assert.Equal(2, _notices.Lines.Count);
        Assert.Contains("No space left on device", _notices.Lines[0], StringComparison.Ordinal);
        Assert.Contains("failed attempts: 2", _notices.Lines[1], StringComparison.Ordinal);
    }

    [Fact]
    public void A_line_that_was_begun_is_written_whole_to_a_reopened_log()
    {
        _sink.Script(8, -Errno.ENOSPC);
        LineWriter writer = Start();
        Add(writer, "one\nanother\n");
        SpinWait.SpinUntil(() => writer.Faults > 0, Patience);

        writer.Reopen();
        writer.Dispose();

        Assert.Equal("one\nanot|another\n", _sink.Text);
    }

    [Fact]
    public void A_log_that_cannot_be_reopened_goes_on_where_it_was_until_it_can()
    {
        _sink.Openings.Enqueue(-Errno.EACCES);
        _sink.Openings.Enqueue(-Errno.EACCES);
        LineWriter writer = Start();

        writer.Reopen();
        SpinWait.SpinUntil(() => writer.Faults > 0, Patience);
        Add(writer, "one\n");
        _sink.Await("one\n|");
        Add(writer, "two\n");
        writer.Dispose();

        Assert.Equal("one\n|two\n", _sink.Text);
        Assert.Contains("Reopening the access log", _notices.Lines[0], StringComparison.Ordinal);
    }

    [Fact]
    public void A_pipe_that_is_full_is_no_fault()
    {
        _sink.Script(2, -Errno.EAGAIN, -Errno.EAGAIN, -Errno.EINTR, int.MaxValue);
        LineWriter writer = Start();
        Add(writer, "one line\n");

        writer.Dispose();

        Assert.Equal("one line\n", _sink.Text);
        Assert.Equal(0, writer.Faults);
        Assert.Empty(_notices.Lines);
    }

    [Fact]
    public void Where_one_ring_is_never_empty_the_others_lines_are_written_and_the_log_is_reopened()
    {
        var busy = new LineRing(4096);
        var other = new LineRing(4096);
        byte[] line = Encoding.ASCII.GetBytes("busy\n");
        bool goesOn = true;
        busy.Add(line);
        _sink.Writing = () => _ = Volatile.Read(ref goesOn) && busy.Add(line) == RingAddResult.Added;
        var writer = new LineWriter(_sink, new AccessLogEvents(_notices), [busy, other], LineBytesMax, TimeSpan.FromSeconds(20));

        other.Add(Encoding.ASCII.GetBytes("other\n"));
        writer.Notify();
        Assert.True(SpinWait.SpinUntil(() => _sink.Text.Contains("other\n", StringComparison.Ordinal), Patience));
        writer.Reopen();
        Assert.True(SpinWait.SpinUntil(() => _sink.Text.Contains('|', StringComparison.Ordinal), Patience));

        Volatile.Write(ref goesOn, false);
        writer.Dispose();
        Assert.True(_sink.IsDisposed);
    }

    [Fact]
    public void A_few_lines_that_come_while_others_are_written_are_gathered_first()
    {
        var one = new LineRing(4096);
        var other = new LineRing(4096);
        byte[] line = Encoding.ASCII.GetBytes("line\n");
        int writes = 0;
        _sink.Writing = () => _ = Interlocked.Increment(ref writes) < 2_000 && one.Add(line) == other.Add(line);
        var writer = new LineWriter(_sink, new AccessLogEvents(_notices), [one, other], LineBytesMax, TimeSpan.FromSeconds(20));
        one.Add(line);
        writer.Notify();
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref writes) > 0, TimeSpan.FromSeconds(60)));
        // Sleeps: that nothing more is written shows only in time.
        Thread.Sleep(200);
        int soFar = Volatile.Read(ref writes);
        Volatile.Write(ref writes, 2_000);
        writer.Dispose();

        Assert.InRange(soFar, 1, 1_000);
    }

    [Fact]
    public void Who_takes_nothing_does_not_hold_up_the_end_for_ever()
    {
        using var gate = new ManualResetEventSlim();
        _sink.Gate = gate;
        LineWriter writer = Start(patienceMs: 100);
        Add(writer, "one\n");

        writer.Dispose();

        Assert.Contains("Shutdown timed out", Assert.Single(_notices.Lines), StringComparison.Ordinal);
        gate.Set();
        _sink.Await("one\n");
        SpinWait.SpinUntil(() => _sink.IsDisposed, Patience);
    }

    private LineWriter Start(int patienceMs = 20_000) =>
        new(_sink, new AccessLogEvents(_notices), [_ring], LineBytesMax, TimeSpan.FromMilliseconds(patienceMs));

    private void Add(LineWriter writer, string line)
    {
        Assert.NotEqual(RingAddResult.Dropped, _ring.Add(Encoding.ASCII.GetBytes(line)));
        writer.Notify();
    }

    /// <summary>Accepts as many bytes as configured, and shows openings as bars.</summary>
    private sealed class ScriptedSink : ILogSink
    {
        private readonly Lock _lock = new();
        private readonly Queue<int> _results = new();
        private readonly StringBuilder _text = new();

        public Queue<int> Openings { get; } = new();

        public Action Writing { get; set; } = static () => { };

        public ManualResetEventSlim? Gate { get; set; }

        public bool IsDisposed { get; private set; }

        public string Name => "the test";

        public string Text
        {
            get
            {
                lock (_lock)
                {
                    return _text.ToString();
                }
            }
        }

        public void Script(params int[] results) => Array.ForEach(results, _results.Enqueue);

        public void Await(string text)
        {
            SpinWait.SpinUntil(() => Text == text, Patience);
            Assert.Equal(text, Text);
        }

        public int Try() => 0;

        public int Open()
        {
            int result = Openings.TryDequeue(out int opening) ? opening : 0;
            lock (_lock)
            {
                _text.Append(result == 0 ? "|" : "");
            }

            return result;
        }

        public int Write(ReadOnlySpan<byte> lines)
        {
            Assert.True(Gate?.Wait(Patience) ?? true);
            Writing();
            int result = _results.TryDequeue(out int scripted) ? scripted : int.MaxValue;
            if (result > 0)
            {
                result = Math.Min(result, lines.Length);
                lock (_lock)
                {
                    _text.Append(Encoding.ASCII.GetString(lines[..result]));
                }
            }

            return result;
        }

        public void Dispose() => IsDisposed = true;
    }

    private sealed class NoticeLog : ILogger
    {
        private readonly Lock _lock = new();
        private readonly List<string> _lines = [];

        public List<string> Lines
        {
            get
            {
                lock (_lock)
                {
                    return [.. _lines];
                }
            }
        }

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            lock (_lock)
            {
                if (logLevel >= LogLevel.Warning || eventId.Id == 702)
                {
                    _lines.Add(formatter(state, exception));
                }
            }
        }
    }
}
