using Millrace.Engine.Backends;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A reactor whose credit for slow readers renews itself: at every look they seem to have taken something.</summary>
internal sealed class RenewsCredit(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    private long _checks;

    public override long SendProgress(int socket) => base.SendProgress(socket) + (++_checks * 1_000_000);

    protected override void Tamper(List<Completion> completions)
    {
    }
}
