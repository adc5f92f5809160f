using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Interop;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A reactor that takes ENOBUFS, which says that all receive buffers are in use, for the end of the stream.</summary>
internal sealed class TakesNoBuffersForEnd(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    protected override void Tamper(List<Completion> completions)
    {
        foreach (ref Completion completion in CollectionsMarshal.AsSpan(completions))
        {
            if (completion.Token.Kind == OperationKind.Receive && completion.Result == -Errno.ENOBUFS)
            {
                completion.Result = 0;
            }
        }
    }
}
