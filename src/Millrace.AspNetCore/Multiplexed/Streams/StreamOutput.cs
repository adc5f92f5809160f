using System.Buffers;
using System.IO.Pipelines;
using Millrace.Quic.Streams;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// Sends: copies the application's output into a stream's send buffer as far as that has room, and the end after it. Reactor thread.
/// </summary>
internal sealed class StreamOutput
{
    private static readonly Action<object?> OnReadAction = static output => ((StreamOutput)output!).OnRead();

    private readonly StreamConnection _owner;
    private readonly Pipe _pipe;
    private readonly Action _onRead;
    private QuicStream? _stream;
    private ValueTask<ReadResult> _read;
    private bool _isReading;
    private bool _isEnding;

    public StreamOutput(StreamConnection owner, Pipe pipe)
    {
        _owner = owner;
        _pipe = pipe;
        _onRead = () => owner.Enter(OnReadAction, this);
    }

    /// <summary>Nothing more is taken from the application.</summary>
    public bool HasEnded { get; private set; }

    /// <summary>Whether all that the application wrote was taken, with its end.</summary>
    public bool IsWhole { get; private set; }

    /// <summary>For a stream, which may be another than before. Does not take anything yet.</summary>
    public void Begin(QuicStream stream)
    {
        _stream = stream;
        HasEnded = IsWhole = _isReading = _isEnding = false;
    }

    /// <summary>The stream object may belong to another stream from now on.</summary>
    public void Detach() => _stream = null;

    /// <summary>There may be something to take, or room for it.</summary>
    public void Pump()
    {
        while (!_isReading && !HasEnded)
        {
            ValueTask<ReadResult> read = Read();
            if (!read.IsCompleted)
            {
                _read = read;
                _isReading = true;
                read.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_onRead);
                return;
            }

            if (!Take(read))
            {
                return;
            }
        }
    }

    /// <summary>Ends the application's output: its next flush learns it. The first counts.</summary>
    public void End()
    {
        if (HasEnded || _isEnding)
        {
            return;
        }

        _isEnding = true;
        if (_isReading)
        {
            _pipe.Reader.CancelPendingRead();
        }
        else
        {
            Complete();
        }
    }

    /// <summary>The pipe throws what the application has completed its output with.</summary>
    private ValueTask<ReadResult> Read()
    {
        try
        {
            return _pipe.Reader.ReadAsync();
        }
#pragma warning disable CA1031 // Whatever the application completed its output with.
        catch (Exception error)
#pragma warning restore CA1031
        {
            return ValueTask.FromException<ReadResult>(error);
        }
    }

    private void OnRead()
    {
        ValueTask<ReadResult> read = _read;
        _read = default;
        _isReading = false;
        if (Take(read))
        {
            Pump();
        }
    }

    /// <summary>False: it has ended, or waits for room.</summary>
    private bool Take(ValueTask<ReadResult> read)
    {
        ReadResult result;
        try
        {
            result = read.GetAwaiter().GetResult();
        }
#pragma warning disable CA1031 // Whatever the application completed its output with.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _owner.AbortWriting(error);
            return false;
        }

        if (_isEnding || _stream is not { } stream)
        {
            Complete();
            return false;
        }

        ReadOnlySequence<byte> bytes = result.Buffer;
        long count = Write(stream, bytes);
        bool isAll = count == bytes.Length;
        _pipe.Reader.AdvanceTo(bytes.GetPosition(count));
        _owner.ScheduleSend();
        if (!isAll)
        {
            return false;
        }

        if (result.IsCompleted)
        {
            stream.Finish();
            IsWhole = true;
            Complete();
            return false;
        }

        return true;
    }

    private static long Write(QuicStream stream, in ReadOnlySequence<byte> bytes)
    {
        long count = 0;
        foreach (ReadOnlyMemory<byte> segment in bytes)
        {
            int written = stream.Write(segment.Span);
            count += written;
            if (written < segment.Length)
            {
                break;
            }
        }

        return count;
    }

    private void Complete()
    {
        HasEnded = true;
        _pipe.Reader.Complete();
        _owner.OnSideEnded();
    }
}
