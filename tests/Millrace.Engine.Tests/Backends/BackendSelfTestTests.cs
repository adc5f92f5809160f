using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Backends.IoUring;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>A self-test that could not fail would be none: kernels with one thing wrong are found out, each for what is wrong.</summary>
public class BackendSelfTestTests
{
    [Theory]
    [InlineData("accept", -Errno.EINVAL)]
    [InlineData("connect", -Errno.EOPNOTSUPP)]
    [InlineData("receive", -Errno.EINVAL)]
    [InlineData("send", -Errno.EOPNOTSUPP)]
    [InlineData("sendmsg", -Errno.EOPNOTSUPP)]
    [InlineData("read", -Errno.EOPNOTSUPP)]
    [InlineData("read", 3)]
    public void An_operation_that_the_kernel_refuses_is_named(string operation, int result)
    {
        using var kernel = new FaultyBackend(operation, result);
        string? failure = BackendSelfTest.Run(kernel)?.What;
        Assert.NotNull(failure);
        Assert.Contains(operation, failure, StringComparison.Ordinal);
        Assert.Contains(result < 0 ? Errno.Describe(result) : $"unexpected result {result}", failure, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("one-shot accept", "multishot accept")]
    [InlineData("one-shot receive", "multishot receive")]
    [InlineData("garbled receive", "content of a receive")]
    public void An_operation_that_goes_wrong_is_named(string fault, string named)
    {
        using var kernel = new FaultyBackend(fault, 0);
        Assert.Contains(named, BackendSelfTest.Run(kernel)?.What, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("accept", Errno.EMFILE, "ulimit -n")]
    [InlineData("accept", Errno.ENFILE, "fs.file-max")]
    [InlineData("connect", Errno.ENOMEM, "MemoryMax=")]
    [InlineData("send", Errno.ENOBUFS, "MemoryMax=")]
    public void What_has_run_out_meanwhile_is_no_absence_and_leaves_no_descriptor(string operation, int errno, string remedy)
    {
        using var kernel = new FaultyBackend(operation, -errno);
        int before = Directory.GetFiles("/proc/self/fd").Length;
        SelfTestFailure failure = BackendSelfTest.Run(kernel)!;
        // Finalizers of tests before may close some meanwhile.
        Assert.InRange(Directory.GetFiles("/proc/self/fd").Length, 0, before);
        IoUringRefusal refusal = IoUringRefusal.ForSelfTest(failure);
        Assert.Equal((false, errno), (refusal.IsUnavailable, refusal.ErrorNumber));
        Assert.Contains(remedy, refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_receive_that_does_not_find_its_buffers_is_an_absence()
    {
        using var kernel = new FaultyBackend("receive", -Errno.ENOBUFS);
        IoUringRefusal refusal = IoUringRefusal.ForSelfTest(BackendSelfTest.Run(kernel)!);
        Assert.True(refusal.IsUnavailable);
        Assert.Contains("multishot receive", refusal.Message, StringComparison.Ordinal);
    }

    /// <summary>Epoll that answers one operation for itself, or spoils it.</summary>
    private sealed unsafe class FaultyBackend(string fault, int result) : Backend
    {
        private readonly EpollBackend _sound = new(BackendSelfTest.Options);
        private readonly List<Completion> _own = [];
        private Completion[] _completions = [];

        public override string Name => "faulty";

        public override int ReceiveBufferCount => _sound.ReceiveBufferCount;

        public override int ReceiveBufferBytes => _sound.ReceiveBufferBytes;

        public override void SubmitAccept(OperationToken token, int listenSocket)
        {
            if (!IsRefused("accept", token))
            {
                _sound.SubmitAccept(token, listenSocket);
            }
        }

        public override void SubmitConnect(OperationToken token, int socket, byte* address, int bytes)
        {
            if (!IsRefused("connect", token))
            {
                _sound.SubmitConnect(token, socket, address, bytes);
            }
        }

        public override void SubmitReceive(OperationToken token, int socket, bool once = false)
        {
            if (!IsRefused("receive", token))
            {
                _sound.SubmitReceive(token, socket, once);
            }
        }

        public override void SubmitSend(OperationToken token, int socket, in SendRequest send)
        {
            if (!IsRefused(send.Message is null ? "send" : "sendmsg", token))
            {
                _sound.SubmitSend(token, socket, send);
            }
        }

        public override void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset)
        {
            if (!IsRefused("read", token))
            {
                _sound.SubmitRead(token, file, destination, bytes, offset);
            }
        }

        public override void SubmitAwaitRoom(OperationToken token, int socket) => _sound.SubmitAwaitRoom(token, socket);

        public override void PrepareDatagrams() => _sound.PrepareDatagrams();

        public override void SubmitReceiveDatagrams(OperationToken token, int socket) => _sound.SubmitReceiveDatagrams(token, socket);

        public override void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message) =>
            _sound.SubmitSendDatagram(token, socket, message);

        public override void ReturnDatagramBuffer(ushort bufferId) => _sound.ReturnDatagramBuffer(bufferId);

        public override void SubmitCancel(OperationToken target) => _sound.SubmitCancel(target);

        public override ReadOnlySpan<Completion> Poll(long timeoutMs)
        {
            _completions = [.. _own, .. _sound.Poll(_own.Count > 0 ? 0 : timeoutMs)];
            _own.Clear();
            foreach (ref Completion completion in _completions.AsSpan())
            {
                Spoil(ref completion);
            }

            return _completions;
        }

        public override void CloseSocket(int socket) => _sound.CloseSocket(socket);

        public override void ReturnBuffer(ushort bufferId) => _sound.ReturnBuffer(bufferId);

        public override void Wake() => _sound.Wake();

        protected override void Dispose(bool disposing) => _sound.Dispose();

        private bool IsRefused(string operation, OperationToken token)
        {
            if (operation != fault)
            {
                return false;
            }

            _own.Add(new Completion { Token = token, Result = result });
            return true;
        }

        private void Spoil(ref Completion completion)
        {
            if (fault == $"one-shot {Word(completion.Token.Kind)}")
            {
                completion.Flags &= ~CompletionFlags.More;
            }
            else if (fault == "garbled receive" && completion.HasBuffer)
            {
                completion.Data[0] ^= 1;
            }
        }

        private static string Word(OperationKind kind) => kind == OperationKind.Accept ? "accept" : "receive";
    }
}
