using System.Diagnostics;
using Millrace.Engine.Accounting;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Connections;

/// <summary>What a connection holds on its client's account: memory, descriptors, and its lease of the limiter. Reactor thread.</summary>
internal sealed class ConnectionHoldings(Reactor reactor)
{
    /// <summary>
    /// An idle connection: its objects, its slot, and the kernel's socket (measured on Linux 6.18: 3.3 KB), which a cgroup counts too.
    /// </summary>
    private const int OpenBytes = 4 * 1024;

    private ClientAccount? _account;
    private int _openFiles;
    private long _stateBytes;

    public ConnectionLease Lease { get; private set; }

    public long Bytes { get; private set; }

    /// <summary>Whether new requests are to be refused, because memory is short and the client holds much of it.</summary>
    public bool IsToBeRefused => reactor.Accounts.IsToRefuse(_account!);

    public bool IsSmallHolder => reactor.Accounts.IsLittle(_account!);

    public bool IsShed => _account == reactor.Accounts.Ending;

    public bool CountsAsServed => Lease.Admission == AdmissionResult.Served;

    public bool AreOf(ClientAccount account) => _account == account;

    public void Open(ClientAccount account, ConnectionLease lease)
    {
        Debug.Assert(Bytes == 0 && _stateBytes == 0);
        _account = account;
        Lease = lease;
        ChargeManaged(OpenBytes);
    }

    public void Close()
    {
        ChargeManaged(-_stateBytes);
        Debug.Assert(Bytes == 0 && _openFiles == 0, "blocks or files are left");
        reactor.Accounts.Close(_account!);
        _account = null;
    }

    /// <summary>Charges memory other than native blocks; a negative number returns it.</summary>
    public void ChargeManaged(long bytes)
    {
        _stateBytes += bytes;
        reactor.Accounts.ChargeState(bytes);
        ChargeBlocks(bytes);
    }

    /// <summary>Charges native blocks, which their pool counts as well; a negative number returns them.</summary>
    public void ChargeBlocks(long bytes)
    {
        Bytes += bytes;
        _account!.Bytes += bytes;
    }

    public bool TryHoldFile(int descriptor)
    {
        bool mayHold = reactor.Descriptors.MayOpen(descriptor, _account!.OpenFiles) || reactor.Admission.TryMakeRoomForFile(_account);
        HoldFiles(mayHold ? 1 : 0);
        return mayHold;
    }

    public void ReturnFile() => HoldFiles(-1);

    /// <summary>Moves the charges to the account of connections that are ended to free what they hold.</summary>
    public void Shed() => MoveTo(ClientAccounts.Enter(reactor.Accounts.Ending));

    /// <summary>A proxy has announced the client; false when a limit leaves no room for it.</summary>
    public bool TryAssignClient(ClientAddress? client, ListenerContext listener)
    {
        MoveTo(reactor.Accounts.Open(client));
        Lease = reactor.Admission.Identify(Lease, client, listener);
        return Lease.Admission != AdmissionResult.TurnedAway;
    }

    /// <summary>The client, and the lease of the limiter, are known only now.</summary>
    public void Assign(ClientAccount account, ConnectionLease lease)
    {
        MoveTo(account);
        Lease = lease;
    }

    private void HoldFiles(int count)
    {
        _openFiles += count;
        _account!.OpenFiles += count;
    }

    private void MoveTo(ClientAccount account)
    {
        _account!.Bytes -= Bytes;
        _account.OpenFiles -= _openFiles;
        account.Bytes += Bytes;
        account.OpenFiles += _openFiles;
        reactor.Accounts.Close(_account);
        _account = account;
    }
}
