using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A turnstile that counts who was turned away among those who were let in, and keeps his place for good.</summary>
internal sealed class KeepsAPlace(SimulatedBackend kernel) : TamperedBackend(kernel)
{
    public override void CloseSocket(int socket)
    {
        if (Kernel.AdmissionOf(socket) is AdmissionResult.TurnedAway or AdmissionResult.Refused)
        {
            Span<byte> address = stackalloc byte[ClientAddress.SocketAddressBytesMax];
            int bytes = Kernel.PeerAddress(socket, address);
            Kernel.Simulation.Limiter.Enter(bytes < 0 ? null : ClientAddress.Of(address[..bytes]));
        }

        base.CloseSocket(socket);
    }

    protected override void Tamper(List<Completion> completions)
    {
    }
}
