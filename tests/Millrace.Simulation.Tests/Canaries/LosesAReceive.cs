using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A reactor that forgets to receive again when a receive has ended without an error.</summary>
internal sealed class LosesAReceive(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    private readonly HashSet<OperationToken> _ended = [];

    public override void SubmitReceive(OperationToken token, int socket, bool once = false)
    {
        if (once || !_ended.Contains(token))
        {
            base.SubmitReceive(token, socket, once);
        }
    }

    protected override void Tamper(List<Completion> completions)
    {
        foreach (Completion completion in completions)
        {
            if (completion.Token.Kind == OperationKind.Receive && completion.Result > 0 && completion.IsTerminal)
            {
                _ended.Add(completion.Token);
            }
        }
    }
}
