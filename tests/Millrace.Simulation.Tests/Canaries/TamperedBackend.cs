using Millrace.Engine.Backends;
using Millrace.Interop.Sockets;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Canaries;

/// <summary>
/// Between reactor and kernel: changes what passes so that the reactor behaves as one with a certain bug would. The bug is in neither of
/// them, so that the source needs no switch for it.
/// </summary>
internal abstract unsafe class TamperedBackend(SimulatedBackend kernel) : Backend
{
    public override string Name => kernel.Name;

    public override int ReceiveBufferCount => kernel.ReceiveBufferCount;

    public override int ReceiveBufferBytes => kernel.ReceiveBufferBytes;

    public override long NowMs => kernel.NowMs;

    public override long Timestamp => kernel.Timestamp;

    protected SimulatedBackend Kernel => kernel;

    public override void SubmitAccept(OperationToken token, int listenSocket) => kernel.SubmitAccept(token, listenSocket);

    public override void SubmitConnect(OperationToken token, int socket, byte* address, int bytes) =>
        kernel.SubmitConnect(token, socket, address, bytes);

    public override void SubmitReceive(OperationToken token, int socket, bool once = false) => kernel.SubmitReceive(token, socket, once);

    public override long MoveBytesMin => kernel.MoveBytesMin;

    public override int MoveIn(int source, int bytes) => kernel.MoveIn(source, bytes);

    public override int MoveOut(int destination, int bytes, bool hasMore) => kernel.MoveOut(destination, bytes, hasMore);

    public override void DrainMoved(byte* buffer, int bytes) => kernel.DrainMoved(buffer, bytes);

    public override int ReceiveNow(int socket, byte* buffer, int bytes) => kernel.ReceiveNow(socket, buffer, bytes);

    public override void SubmitSend(OperationToken token, int socket, in SendRequest send) => kernel.SubmitSend(token, socket, send);

    public override void SubmitAwaitRoom(OperationToken token, int socket) => kernel.SubmitAwaitRoom(token, socket);

    public override nint SendNow(int socket, MessageHeader* message, bool hasMore = false) => kernel.SendNow(socket, message, hasMore);

    public override FilePagePolicy FilePages => kernel.FilePages;

    public override long CachedBytes(int file, long offset, long bytes) => kernel.CachedBytes(file, offset, bytes);

    public override nint SendFile(int socket, int file, long offset, nuint bytes) => kernel.SendFile(socket, file, offset, bytes);

    public override void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset) =>
        kernel.SubmitRead(token, file, destination, bytes, offset);

    public override void PrepareDatagrams() => kernel.PrepareDatagrams();

    public override void SubmitReceiveDatagrams(OperationToken token, int socket) => kernel.SubmitReceiveDatagrams(token, socket);

    public override void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message) =>
        kernel.SubmitSendDatagram(token, socket, message);

    public override void ReturnDatagramBuffer(ushort bufferId) => kernel.ReturnDatagramBuffer(bufferId);

    public override void SubmitCancel(OperationToken target) => kernel.SubmitCancel(target);

    public override ReadOnlySpan<Completion> Poll(long timeoutMs)
    {
        List<Completion> completions = [.. kernel.Poll(timeoutMs)];
        Tamper(completions);
        return completions.ToArray();
    }

    public override void ReturnBuffer(ushort bufferId) => kernel.ReturnBuffer(bufferId);

    public override void Wake() => kernel.Wake();

    public override int SetNonBlocking(int socket) => kernel.SetNonBlocking(socket);

    public override int AcceptQueued(int listenSocket) => kernel.AcceptQueued(listenSocket);

    public override int OpenSocket(int family) => kernel.OpenSocket(family);

    public override void CloseSocket(int socket) => kernel.CloseSocket(socket);

    public override void ShutdownSend(int socket) => kernel.ShutdownSend(socket);

    public override void ResetOnClose(int socket) => kernel.ResetOnClose(socket);

    public override int PeerAddress(int socket, Span<byte> address) => kernel.PeerAddress(socket, address);

    public override int UnacknowledgedBytes(int socket) => kernel.UnacknowledgedBytes(socket);

    public override bool IsOver(int socket) => kernel.IsOver(socket);

    public override long SendProgress(int socket) => kernel.SendProgress(socket);

    /// <summary>Changes the completions of an iteration.</summary>
    protected abstract void Tamper(List<Completion> completions);

    protected override void Dispose(bool disposing) => kernel.Dispose();
}
