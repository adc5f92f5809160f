using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>
/// A reactor that takes a send for ended when it asks for its end, and lends its memory to the next connection while the kernel still
/// reads it. (The socket is closed when the send has really ended, as the kernel keeps it open for that.)
/// </summary>
internal sealed class RecyclesWithSendInFlight(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    private readonly Dictionary<OperationToken, int> _sockets = [];
    private readonly Dictionary<OperationToken, bool> _abandoned = [];
    private readonly List<OperationToken> _forged = [];

    public override void SubmitSend(OperationToken token, int socket, in SendRequest send)
    {
        _sockets[token] = socket;
        base.SubmitSend(token, socket, send);
    }

    public override void SubmitCancel(OperationToken target)
    {
        base.SubmitCancel(target);
        if (target.Kind == OperationKind.Send)
        {
            _abandoned[target] = false;
            _forged.Add(target);
        }
    }

    public override ReadOnlySpan<Completion> Poll(long timeoutMs) => base.Poll(_forged.Count > 0 ? 0 : timeoutMs);

    public override void CloseSocket(int socket)
    {
        OperationToken abandoned = _abandoned.Keys.FirstOrDefault(token => _sockets[token] == socket);
        if (abandoned == default)
        {
            base.CloseSocket(socket);
        }
        else
        {
            _abandoned[abandoned] = true;
        }
    }

    protected override void Tamper(List<Completion> completions)
    {
        for (int i = completions.Count - 1; i >= 0; i--)
        {
            OperationToken token = completions[i].Token;
            if (_abandoned.Remove(token, out bool isClosed))
            {
                completions.RemoveAt(i);
                if (isClosed)
                {
                    base.CloseSocket(_sockets[token]);
                }
            }
        }

        completions.AddRange(_forged.Select(static token => new Completion { Token = token, Result = -Errno.ECANCELED }));
        _forged.Clear();
    }

    protected override void Dispose(bool disposing)
    {
        // What is left ends before the ring does, or that would be what is found.
        while (_abandoned.Count > 0)
        {
            Tamper([.. Kernel.Poll(timeoutMs: 10)]);
        }

        base.Dispose(disposing);
    }
}
