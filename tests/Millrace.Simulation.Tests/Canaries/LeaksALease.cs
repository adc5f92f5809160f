using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>A limiter that counts connections that were turned away as served, and never returns their leases.</summary>
internal sealed class LeaksALease(SimulatedBackend kernel) : TamperedBackend(kernel)
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
