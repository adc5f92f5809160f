using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.ZeroCopy;

[Trait("Backend", "io_uring")]
public class ZeroCopyEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyEndingTests : EndingTests
{
    internal override bool SendsCopies => false;

    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyFilterTests : FilterTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}

[Trait("Backend", "io_uring")]
public class ZeroCopyConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.ZeroCopy();
}
