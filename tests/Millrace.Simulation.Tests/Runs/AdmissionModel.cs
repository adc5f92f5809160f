using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Kernel;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>
/// Who was let in, counted again: no limit is ever exceeded, and nobody is turned away who might have come in. A connection counts until
/// its slot has its next generation.
/// </summary>
internal sealed class AdmissionModel(World world)
{
    private readonly List<(Connection Connection, uint Generation, AdmissionResult Admission, int? Client)> _entries = [];

    private Limits Limits => world.Shape.Limits;

    /// <summary>A handler begins to serve, or to refuse, a connection.</summary>
    public void OnAdmitted(Connection connection, SimulatedSocket socket, AdmissionResult admission)
    {
        if (socket.Admission != AdmissionResult.TurnedAway)
        {
            // A later handler of the same connection, which has rested.
            return;
        }

        Forget();
        socket.Admission = admission;
        bool hadRoom = HasRoom(socket.CountedClient);
        if (admission == AdmissionResult.Served && !MayHaveRoom(socket.CountedClient))
        {
            world.Fail(socket.Number, $"A connection is served beyond a limit, of client {socket.CountedClient}.");
        }
        else if (admission == AdmissionResult.Refused && hadRoom)
        {
            world.Fail(socket.Number, "A connection is refused below the limits.");
        }
        else if (admission == AdmissionResult.Refused && Count(AdmissionResult.Refused) >= Limits.Refusals)
        {
            world.Fail(socket.Number, "More connections are refused at one time than may be.");
        }

        if (admission == AdmissionResult.Refused)
        {
            CountTurnedAway(socket, FaultKind.Refused);
        }

        _entries.Add((connection, connection.Generation, admission, admission == AdmissionResult.Served ? socket.CountedClient : null));
    }

    /// <summary>A connection was reset that nobody has served or refused: a limit is reached, and nobody may tell it so any more.</summary>
    public void OnShed(SimulatedSocket socket)
    {
        Forget();
        CountTurnedAway(socket, FaultKind.Crowded);
        bool mayBeReported = socket.MayBeRefused && !world.IsStopping && Count(AdmissionResult.Refused) < Limits.Refusals;
        if (world.NowMs < world.DrainEndsAtMs && (HasRoom(socket.CountedClient) || mayBeReported))
        {
            world.Fail(socket.Number, "A connection was shed below the limits.");
        }
    }

    /// <summary>All connections have ended: the limiter counts none.</summary>
    public void CheckEmpty(ConnectionLimiter limiter)
    {
        (int Served, int Refused, int Clients) left = (limiter.Served, limiter.Refused, limiter.Clients);
        if (left != default)
        {
            world.Fail(Trace.NoConnection, $"The connection limiter still counts {left}.");
        }
    }

    private bool HasRoom(int? client) =>
        Count(AdmissionResult.Served) < Limits.Connections
        && !IsFull(client);

    /// <summary>Also in the place of one that was ended for it, which counts until it has gone.</summary>
    private bool MayHaveRoom(int? client) =>
        _entries.Count(static entry => entry.Admission == AdmissionResult.Served && !entry.Connection.Holdings.IsShed) < Limits.Connections
        && !IsFull(client);

    private bool IsFull(int? client) =>
        client is not null && Limits.ConnectionsPerClient > 0 && _entries.Count(entry => entry.Client == client) >= Limits.ConnectionsPerClient;

    private void CountTurnedAway(SimulatedSocket socket, FaultKind how)
    {
        world.Count(how, socket.Number);
        if (IsFull(socket.CountedClient))
        {
            world.Count(FaultKind.CrowdedClient, socket.Number);
        }
    }

    private int Count(AdmissionResult admission) => _entries.Count(entry => entry.Admission == admission);

    private void Forget() => _entries.RemoveAll(static entry => entry.Connection.Generation != entry.Generation);
}
