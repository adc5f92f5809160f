using System.Diagnostics;
using System.Runtime.CompilerServices;
using Microsoft.Win32.SafeHandles;
using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Loop;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Connections;

/// <summary>
/// File reads on the reactor's ring, directly into a connection's output. Created on a connection object's first read and kept with it.
/// Reactor thread; the batch's memory is the kernel's until the completion.
/// </summary>
internal sealed class OutputFileReader(Connection connection)
{
    private readonly ReactorSignal<int> _read = new();
    private OutputBatch? _batch;
    private int _file;
    private long _offset;
    private int _bytesMax;
    private int _attempts;

    public bool IsReading => _batch is not null;

    public void Reset() => Debug.Assert(!IsReading && !_read.IsPending);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<int> ReadAsync(SafeFileHandle file, long offset, int bytesMax)
    {
        ArgumentNullException.ThrowIfNull(file);
        bool added = false;
        file.DangerousAddRef(ref added);
        try
        {
            return await ReadAsync((int)file.DangerousGetHandle(), offset, bytesMax);
        }
        finally
        {
            if (added)
            {
                file.DangerousRelease();
            }
        }
    }

    public ValueTask<int> ReadAsync(int file, long offset, int bytesMax)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(bytesMax);
        connection.AssertUsable();
        if (connection.Writer.IsLost)
        {
            // A handler that reads on would keep an aborted connection for as long as its file lasts.
            return ValueTask.FromException<int>(FileReadErrors.Broken());
        }

        // Flushed bytes need not wait for the file.
        connection.Writer.SendFlushedNow();

        OutputBatch batch = connection.Writer.Batch();
        _ = batch.GetSpan(bytesMax);
        (_file, _offset, _bytesMax, _attempts) = (file, offset, bytesMax, 1);
        _batch = batch;
        Submit();
        return _read.Begin();
    }

    public void OnRead(in Completion completion)
    {
        connection.OperationsInFlight--;
        int result = completion.Result;
        if (result is -Errno.EINTR or -Errno.EAGAIN
            && connection.Phase != ConnectionPhase.Closing
            && _attempts < FileReadOperation.AttemptsMax)
        {
            _attempts++;
            Submit();
            return;
        }

        if (result > 0)
        {
            _batch!.Advance(result);
        }

        _batch = null;
        if (connection.Writer.IsFlushRequested)
        {
            connection.Sender.Queue();
        }

        if (result >= 0)
        {
            _read.Complete(result);
        }
        else
        {
            connection.Reactor.NoteFileFault(result);
            _read.Fail(FileReadErrors.Of(result));
        }

        connection.Progress();
    }

    /// <summary>
    /// The reactor ends while the read is outstanding: the handler's wait fails. The kernel still owns the memory, which stays as it is.
    /// </summary>
    public void Abandon()
    {
        if (IsReading && _read.IsPending)
        {
            _read.Fail(FileReadErrors.Unanswered());
        }
    }

    private unsafe void Submit()
    {
        connection.OperationsInFlight++;
        connection.Backend.SubmitRead(connection.Token(OperationKind.FileRead), _file, _batch!.Position, _bytesMax, _offset);
    }
}
