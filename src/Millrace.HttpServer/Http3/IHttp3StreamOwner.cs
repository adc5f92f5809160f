namespace Millrace.HttpServer.Http3;

/// <summary>What the responses of a connection need of its session. Reactor thread only.</summary>
internal interface IHttp3StreamOwner
{
    /// <summary>Sends what was written to streams outside of the connection's callbacks.</summary>
    void ScheduleSend();

    /// <summary>Reads on with a request's body, of which the upstream takes more now.</summary>
    void ReadOn(Http3Stream stream);

    /// <summary>Ends the connection for an exception outside of its callbacks, such as for lack of memory.</summary>
    void Fail(Exception error);

    /// <summary>A stream was reset, or is closed: what has arrived of its request is of no use any more.</summary>
    void OnCut(Http3Stream stream);

    /// <summary>The last read of a file for a stream that is closed has ended.</summary>
    void OnReadsEnded();

    /// <summary>So many bytes of a body are written, which are worth more than small frames of the client cost.</summary>
    void OnBodyWritten(int bytes);

    /// <summary>A response is written completely, which is worth more than a client's error costs.</summary>
    void OnAnswered(Http3Stream stream);
}
