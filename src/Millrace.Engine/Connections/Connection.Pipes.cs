using System.IO.Pipelines;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Pipes;

namespace Millrace.Engine;

/// <content>The connection as pipes, and the members that these use.</content>
public sealed partial class Connection
{
    /// <summary>The input buffer itself, for access to its memory.</summary>
    internal ref InputBuffer InputMemory => ref _input;

    internal bool HasUnseenInput => _input.Count > _seen;

    internal ReceiveEnd InputEnd => _inputEnd;

    /// <summary>
    /// The connection as <see cref="PipeReader"/> and <see cref="PipeWriter"/>, for handlers written for pipes. Use either these or the raw
    /// members for a direction, not both at once; <see cref="ReadFileAsync(int, long, int)"/> appends to what was written to the pipe. The
    /// pipes are bound to the reactor's thread. Completing them does not end the connection: that ends when the handler returns, after
    /// which the pipes throw. They do not report a stop, see <see cref="ReactorGroup.StopAsync"/>.
    /// </summary>
    public IDuplexPipe AsDuplexPipe()
    {
        Reactor.AssertReactorThread();
        AssertServing();
        return new ConnectionPipe(this);
    }

    /// <summary>Moves borrowed input to the connection's own memory: a pipe's reader may use it across awaits.</summary>
    internal void OwnInput()
    {
        _input.Settle(Pools, this);
        NoteInput();
    }

    /// <summary>How much of the input was seen; the next wait is for more.</summary>
    internal int SeenBytes => _seen;

    /// <summary>Marks all of the input as seen.</summary>
    internal void MarkSeen() => _seen = _input.Count;

    /// <summary>Undoes the marking of a wait whose result was not delivered.</summary>
    internal void MarkSeen(int bytes) => _seen = bytes;

    /// <summary>Releases the input shown to a pipe's reader.</summary>
    internal void AdvanceInput(int consumed, int examined)
    {
        Reactor.AssertReactorThread();
        _input.Release(Pools);
        _seen = examined;
        Consume(consumed);
    }

    /// <summary>Ends a pending wait, for PipeReader.CancelPendingRead.</summary>
    internal void TryEndRead(ReadOutcome outcome)
    {
        if (_read.IsPending)
        {
            _read.Complete(outcome);
        }
    }
}
