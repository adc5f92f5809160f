using System.Diagnostics;
using Millrace.Engine.Accounting;
using Millrace.Engine.Connections;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>Memory and descriptors of the connection, charged to its client.</content>
public sealed partial class Connection
{
    /// <summary>
    /// An idle connection: this object, its slot, and the kernel's socket (measured on Linux 6.18: 3.3 KB), which a cgroup counts too.
    /// </summary>
    internal const int OpenBytes = 4 * 1024;

    private ClientAccount? _account;
    private int _openFiles;
    private long _stateBytes;
    private int _inputBytes;

    /// <summary>All memory charged to the connection.</summary>
    internal long HeldBytes { get; private set; }

    /// <summary>Whether new requests are to be refused, because memory is short and the client holds much of it.</summary>
    internal bool IsToBeRefused => Reactor.Accounts.IsToRefuse(_account!);

    /// <summary>Whether the client holds so little that it is served while memory is short.</summary>
    internal bool HoldsLittle => Reactor.Accounts.IsLittle(_account!);

    /// <summary>Charges memory other than native blocks; a negative number returns it.</summary>
    internal void HoldState(long bytes)
    {
        _stateBytes += bytes;
        Reactor.Accounts.ChargeState(bytes);
        HoldLent(bytes);
    }

    /// <summary>Charges native blocks, which their pool counts as well; a negative number returns them.</summary>
    internal void HoldLent(long bytes)
    {
        HeldBytes += bytes;
        _account!.Bytes += bytes;
    }

    /// <summary>
    /// Whether the descriptor of a file that was opened for one response may stay open. False when descriptors are short, the client holds
    /// too many, and no idle connection of another client can be closed instead. Paired with <see cref="ReturnFile"/>.
    /// </summary>
    internal bool TryHoldFile(int descriptor)
    {
        bool mayHold = Reactor.Descriptors.MayOpen(descriptor, _account!.OpenFiles) || Reactor.TryMakeRoomForFile(_account);
        HoldFiles(mayHold ? 1 : 0);
        return mayHold;
    }

    internal void ReturnFile() => HoldFiles(-1);

    /// <summary>Whether it counts towards the limit on connections: it is not being refused.</summary>
    internal bool IsServed => _lease.Admission == AdmissionResult.Served;

    /// <summary>Whether it ends because memory or descriptors are short.</summary>
    internal bool IsShed => _account is not null && Reactor.Accounts.IsEnding(_account);

    internal bool IsOf(ClientAccount account) => _account == account && Phase < ConnectionPhase.Closing;

    /// <summary>Whether it waits for a next request with nothing unsent: clients expect that such a connection may close.</summary>
    internal bool IsIdle => IsWaitingIdle && !_isHeld && _sending is null && _filling is null;

    /// <summary>Resets the connection to free what it holds.</summary>
    internal void Shed()
    {
        MoveTo(Reactor.Accounts.OpenEnding());
        Abort();
    }

    /// <summary>Closes an idle connection in order to free its descriptor.</summary>
    internal void ShedIdle()
    {
        MoveTo(Reactor.Accounts.OpenEnding());
        NoteIdleEnd();
        Finish();
    }

    private void HoldFiles(int count)
    {
        _openFiles += count;
        _account!.OpenFiles += count;
    }

    private void OpenHolding(ClientAccount account)
    {
        Debug.Assert(HeldBytes == 0 && _stateBytes == 0 && _inputBytes == 0);
        _account = account;
        HoldState(OpenBytes);
    }

    private void CloseHolding()
    {
        NoteInput();
        HoldState(-_stateBytes);
        Debug.Assert(HeldBytes == 0 && _openFiles == 0, "blocks or files are left");
        Reactor.Accounts.Close(_account!);
        _account = null;
    }

    /// <summary>Moves the charges to another account.</summary>
    private void MoveTo(ClientAccount account)
    {
        _account!.Bytes -= HeldBytes;
        _account.OpenFiles -= _openFiles;
        account.Bytes += HeldBytes;
        account.OpenFiles += _openFiles;
        Reactor.Accounts.Close(_account);
        _account = account;
    }

    /// <summary>Updates the charge for the input buffer.</summary>
    private void NoteInput()
    {
        int bytes = _input.HeldBytes;
        if (bytes != _inputBytes)
        {
            HoldLent(bytes - _inputBytes);
            _inputBytes = bytes;
        }
    }
}
