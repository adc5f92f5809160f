using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A reactor that takes every completion for its slot's present connection's.</summary>
internal sealed class IgnoresGenerations(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    private readonly Dictionary<int, uint> _present = [];

    public override void SubmitReceive(OperationToken token, int socket, bool once = false)
    {
        _present[token.Slot] = token.Generation;
        base.SubmitReceive(token, socket, once);
    }

    protected override void Tamper(List<Completion> completions)
    {
        foreach (ref Completion completion in CollectionsMarshal.AsSpan(completions))
        {
            OperationToken token = completion.Token;
            if (token.Kind is OperationKind.Receive or OperationKind.Send or OperationKind.FileRead)
            {
                completion.Token = new OperationToken(token.Kind, _present[token.Slot], token.Slot);
            }
        }
    }
}
