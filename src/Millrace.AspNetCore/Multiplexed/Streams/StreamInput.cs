using System.IO.Pipelines;
using Millrace.Quic.Streams;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// Receives: moves what has arrived on a stream into the application's input, while that takes more. What it does not take stays in QUIC's
/// buffer, whose window then holds the peer back. Reactor thread.
/// </summary>
internal sealed class StreamInput
{
    /// <summary>Bytes requested from the pipe at a time: a block of the pool.</summary>
    private const int PieceBytesMax = 4096;

    private static readonly Action<object?> OnFlushedAction = static input => ((StreamInput)input!).OnFlushed();

    private readonly StreamConnection _owner;
    private readonly Pipe _pipe;
    private readonly Action _onFlushed;
    private QuicStream? _stream;
    private ValueTask<FlushResult> _flush;
    private Exception? _error;
    private bool _isFlushing;
    private bool _isAtEnd;
    private bool _isEnding;

    public StreamInput(StreamConnection owner, Pipe pipe)
    {
        _owner = owner;
        _pipe = pipe;
        _onFlushed = () => owner.Enter(OnFlushedAction, this);
    }

    /// <summary>The application's input is complete, and nothing is moved any more.</summary>
    public bool HasEnded { get; private set; }

    /// <summary>Whether it ended with all that the peer sent.</summary>
    public bool IsWhole => HasEnded && _isAtEnd && _error is null;

    /// <summary>For a stream, which may be another than before.</summary>
    public void Begin(QuicStream stream)
    {
        _stream = stream;
        _error = null;
        HasEnded = _isFlushing = _isAtEnd = _isEnding = false;
    }

    /// <summary>The stream object may belong to another stream from now on.</summary>
    public void Detach() => _stream = null;

    /// <summary>There may be something to move.</summary>
    public void Pump()
    {
        while (!_isFlushing && !HasEnded && _stream is { } stream)
        {
            bool hasMoved = Move(stream);
            _isAtEnd |= stream.IsReadToEnd;
            if (_isAtEnd)
            {
                // The last bytes and the end become visible together.
                End(null);
                return;
            }

            if (!hasMoved)
            {
                return;
            }

            _isFlushing = true;
            ValueTask<FlushResult> flush = Flush();
            if (!flush.IsCompleted)
            {
                _flush = flush;
                _owner.Log.StreamPause(_owner);
                flush.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_onFlushed);
                return;
            }

            _isFlushing = false;
            OnFlushed(flush);
        }
    }

    /// <summary>Ends the application's input, with an error or with the end of the stream. The first counts.</summary>
    public void End(Exception? error)
    {
        if (HasEnded || _isEnding)
        {
            return;
        }

        _isEnding = true;
        _error = error;
        if (_isFlushing)
        {
            _pipe.Writer.CancelPendingFlush();
        }
        else
        {
            Complete();
        }
    }

    private bool Move(QuicStream stream)
    {
        bool hasMoved = false;
        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            int count = Math.Min(bytes.Length, PieceBytesMax);
            bytes[..count].CopyTo(_pipe.Writer.GetSpan(count));
            _pipe.Writer.Advance(count);
            stream.Consume(count);
            hasMoved = true;
            if (_pipe.Writer.UnflushedBytes >= _owner.InputBytesMax)
            {
                break;
            }
        }

        return hasMoved;
    }

    /// <summary>The pipe throws what the application has completed its input with.</summary>
    private ValueTask<FlushResult> Flush()
    {
        try
        {
            return _pipe.Writer.FlushAsync();
        }
#pragma warning disable CA1031 // Whatever the application completed its input with.
        catch (Exception error)
#pragma warning restore CA1031
        {
            return ValueTask.FromException<FlushResult>(error);
        }
    }

    private void OnFlushed()
    {
        ValueTask<FlushResult> flush = _flush;
        _flush = default;
        _isFlushing = false;
        _owner.Log.StreamResume(_owner);
        OnFlushed(flush);
        Pump();
        _owner.ScheduleSend();
    }

    /// <summary>Called when a flush has ended; the input may end with it.</summary>
    private void OnFlushed(ValueTask<FlushResult> flush)
    {
        bool isRead = IsRead(flush);
        if (_isEnding)
        {
            Complete();
        }
        else if (!isRead)
        {
            // The application reads no more.
            _owner.StopReading();
        }
    }

    /// <summary>Whether the application has not completed its input, nor with an error.</summary>
    private static bool IsRead(ValueTask<FlushResult> flush)
    {
        try
        {
            return !flush.GetAwaiter().GetResult().IsCompleted;
        }
#pragma warning disable CA1031 // Whatever the application completed its input with.
        catch (Exception)
#pragma warning restore CA1031
        {
            return false;
        }
    }

    private void Complete()
    {
        HasEnded = true;
        _pipe.Writer.Complete(_error);
        _owner.OnSideEnded();
    }
}
